package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tree is what a host shows at one moment: files and links by their paths, such as proc/meminfo.
type tree struct {
	files, links map[string]string
	sizes        map[string]int64 // of files without content, in bytes
	directories  map[string]bool  // that may be empty
}

func newTree() *tree {
	return &tree{files: map[string]string{}, links: map[string]string{}, sizes: map[string]int64{}, directories: map[string]bool{}}
}

// directory is a place in a tree to add files to.
type directory struct {
	tree *tree
	path string
}

func (d directory) at(name string) directory { return directory{d.tree, path.Join(d.path, name)} }

func (d directory) file(name, text string) { d.tree.files[path.Join(d.path, name)] = text }

// line adds a file of one line.
func (d directory) line(name, text string) { d.file(name, text+"\n") }

// number adds a file of one number.
func (d directory) number(name string, n int64) { d.line(name, fmt.Sprint(n)) }

func (d directory) link(name, target string) { d.tree.links[path.Join(d.path, name)] = target }

// files is the machine as it is now. The host's mutex must be held.
func (h *Host) files() *tree {
	t := newTree()
	h.procFiles(directory{t, procRoot})
	h.machine.sysFiles(directory{t, sysRoot})
	h.machine.groupFiles(directory{t, cgroupRoot}, h.machine.root)
	return t
}

// The roots of procfs, sysfs and cgroup v2 in the folder of a host.
const (
	procRoot   = "proc"
	sysRoot    = "sys"
	cgroupRoot = "cgroup"
	// spareName is a file that is written before it takes the place of another one: a reader sees the old text or the new.
	spareName = "spare"
	// folderPattern is the name of the folder of a host, with a random end.
	folderPattern = "umascope-sim-"
)

// folder holds the files of a host.
type folder struct {
	path  string
	shown *tree // what the files show
}

// memoryFolder is a file system in memory. A host replaces hundreds of small files for each collection; on ext4 that took
// up to half of the CPU time of a demo.
const memoryFolder = "/dev/shm"

// newFolder makes a folder in memory where there is such a place, else in the folder for temporary files.
func newFolder() (*folder, error) {
	path, err := os.MkdirTemp(memoryFolder, folderPattern)
	if err != nil {
		path, err = os.MkdirTemp("", folderPattern)
	}
	return &folder{path, newTree()}, err
}

// show writes what has changed.
func (f *folder) show(now *tree) error {
	errs := []error{f.remove(now)}
	for name := range now.directories {
		if !f.shown.directories[name] {
			errs = append(errs, os.MkdirAll(filepath.Join(f.path, name), 0o700))
		}
	}
	for name, text := range now.files {
		if before, known := f.shown.files[name]; !known || before != text {
			errs = append(errs, f.write(name, []byte(text)))
		}
	}
	for name, size := range now.sizes {
		if _, known := f.shown.sizes[name]; !known {
			errs = append(errs, f.write(name, nil), os.Truncate(filepath.Join(f.path, name), size))
		}
	}
	for name, target := range now.links {
		if _, known := f.shown.links[name]; !known {
			at := filepath.Join(f.path, name)
			errs = append(errs, os.MkdirAll(filepath.Dir(at), 0o700), os.Symlink(target, at))
		}
	}
	f.shown = now
	if err := errors.Join(errs...); err != nil {
		f.shown = newTree() // write all of it the next time
		return fmt.Errorf("files of the simulated host: %w", err)
	}
	return nil
}

func (f *folder) write(name string, text []byte) error {
	spare, at := filepath.Join(f.path, spareName), filepath.Join(f.path, name)
	if err := os.WriteFile(spare, text, 0o600); err != nil {
		return err
	}
	// ext4 writes a file to the disk at once when a rename replaces another one, but not when both change places.
	if unix.Renameat2(unix.AT_FDCWD, spare, unix.AT_FDCWD, at, unix.RENAME_EXCHANGE) == nil {
		return os.Remove(spare)
	}
	err := os.Rename(spare, at)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Rename(spare, at))
	}
	return err
}

// remove removes the files of processes and cgroups that are gone, and their directories.
func (f *folder) remove(now *tree) error {
	var gone []string
	for name := range f.shown.files {
		if _, there := now.files[name]; !there {
			gone = append(gone, name)
		}
	}
	for name := range f.shown.sizes {
		if _, there := now.sizes[name]; !there {
			gone = append(gone, name)
		}
	}
	for name := range f.shown.links {
		if _, there := now.links[name]; !there {
			gone = append(gone, name)
		}
	}
	for name := range f.shown.directories {
		if !now.directories[name] {
			gone = append(gone, name)
		}
	}
	var errs []error
	for _, name := range gone {
		at := filepath.Join(f.path, name)
		if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for above := filepath.Dir(at); above != f.path && os.Remove(above) == nil; { // while it is empty
			above = filepath.Dir(above)
		}
	}
	return errors.Join(errs...)
}
