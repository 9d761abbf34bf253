package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/umascope/umascope/exporter/hostfs"
)

// entry is a file or link of a host.
type entry struct {
	path   string
	data   []byte // of a file
	target string // of a link
	// size is the size in bytes of the file that a descriptor leads to; nil for all other entries.
	size *uint64
}

func parseEntry(file txtar.File) (entry, error) {
	name, target, isLink := strings.Cut(file.Name, linkArrow)
	e := entry{path: name, target: target}
	switch {
	case !isLink:
		e.data = file.Data
	case target == "" || strings.ContainsRune(target, 0):
		return entry{}, errors.New("leads nowhere")
	case strings.TrimSpace(string(file.Data)) == "":
	case !isDescriptor(name) || !path.IsAbs(target):
		return entry{}, errors.New("is a link and has content")
	default:
		size, err := parseSize(string(file.Data))
		if err != nil {
			return entry{}, err
		}
		e.size = &size
	}
	return e, nil
}

// Limits of a path, as of the kernel and its file systems; recordings have a dozen components.
const (
	maxDepth     = 64
	maxNameBytes = 255
)

// paths are those of an archive, with whether they are directories.
type paths map[string]bool

// add adds the path of a file or link. No path leads through a file or a link.
func (p paths) add(name string) error {
	if !fs.ValidPath(name) || strings.ContainsRune(name, 0) || strings.Count(name, "/") >= maxDepth || longestName(name) > maxNameBytes {
		return errors.New("is no path")
	}
	for above := path.Dir(name); above != "."; above = path.Dir(above) {
		if isDirectory, known := p[above]; known && !isDirectory {
			return errors.New("is below a file or link")
		}
		p[above] = true
	}
	if _, known := p[name]; known {
		return errors.New("is there twice")
	}
	p[name] = false
	return nil
}

func longestName(name string) int {
	longest := 0
	for component := range strings.SplitSeq(name, "/") {
		longest = max(longest, len(component))
	}
	return longest
}

// Files are the files of an unpacked archive.
type Files struct {
	Proc, Sys, Cgroup hostfs.Dir
	// Logs is the folder below which logs have their absolute paths.
	Logs string
}

// Unpack writes the files of the host into an empty folder. No link leads out of it: what a link of /proc/<pid> leads to
// is below /proc/<pid>/root there (see hostfs.ReadProcessLink), and an absolute target of another link begins at the
// folder. The file of a descriptor, of which the archive has only the size, is a file of that size without content.
func (a *Archive) Unpack(folder string) (Files, error) {
	for _, e := range a.entries {
		if e.target == "" {
			if err := write(filepath.Join(folder, e.path), e.data); err != nil {
				return Files{}, err
			}
		}
	}
	opened := map[string]string{}
	for _, e := range a.entries { // last, so that no file is written through a link
		if e.target == "" {
			continue
		}
		if err := a.link(folder, e, opened); err != nil {
			return Files{}, fmt.Errorf("entry %.200q: %w", e.path, err)
		}
	}
	in := func(root string) hostfs.Dir { return hostfs.Dir{Path: filepath.Join(folder, root), Temporary: true} }
	return Files{in(procRoot), in(sysRoot), in(cgroupRoot), filepath.Join(folder, logRoot)}, nil
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}

// link makes a link. Opened are the files of descriptors by their numbers: several processes may have one of them open.
func (a *Archive) link(folder string, e entry, opened map[string]string) error {
	at := filepath.Join(folder, e.path)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	target := e.targetIn(folder)
	if e.size != nil {
		if err := writeSize(target, *e.size, opened[a.inode(e)]); err != nil {
			return err
		}
		opened[a.inode(e)] = target
	}
	return os.Symlink(target, at)
}

var inodeLine = regexp.MustCompile(`(?m)^ino:\t([0-9]+)$`)

// inode identifies the file that a descriptor leads to: by its number, or by its name where the kernel shows none.
func (a *Archive) inode(e entry) string {
	info, _ := a.content(strings.Replace(e.path, "/fd/", "/fdinfo/", 1)) // without it there is no number
	if number := inodeLine.FindSubmatch(info); number != nil {
		return string(number[1])
	}
	return e.target
}

// processPath is the path of something of a process in an archive.
var processPath = regexp.MustCompile(`^proc/[0-9]+/`)

// targetIn is the text of the link in a folder. A relative target that climbs no further than to the root of the host
// stays as it is; so does one without "..".
func (e entry) targetIn(folder string) string {
	directory := path.Dir(e.path)
	switch process := processPath.FindString(e.path); {
	case path.IsAbs(e.target) && process != "":
		return filepath.Join(folder, process, "root", path.Clean(e.target))
	case path.IsAbs(e.target):
		return relative(directory, path.Clean(e.target))
	}
	climbs := strings.TrimLeft(e.target, "./")
	leading := strings.Count(e.target[:len(e.target)-len(climbs)], "..")
	if strings.Contains(climbs, "..") || leading > strings.Count(directory, "/")+1 {
		return relative(directory, path.Join("/", directory, e.target))
	}
	return e.target
}

// relative is the way from a directory of the host to an absolute path of it.
func relative(directory, target string) string {
	up := strings.Repeat("../", strings.Count(directory, "/")+1)
	return up + strings.TrimPrefix(target, "/")
}

// writeSize makes a file of a size without content, or another name of the one that there is already. Two descriptors of a
// process may lead to one name.
func writeSize(name string, size uint64, same string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if same != "" && same != name {
		if err := os.Link(same, name); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	return errors.Join(file.Truncate(int64(size)), file.Close())
}
