package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// maxFileBytes is the maximum size of one file. The longest file read, diskstats of a host with thousands of
	// devices, is well below; an endless file must not take the exporter's memory.
	maxFileBytes = 1 << 20
	// firstReadBytes holds nearly every file whole, so that one read call suffices.
	firstReadBytes = 8 << 10
)

// dir is a directory of the running machine.
type dir string

var _ interface {
	fs.ReadFileFS
	fs.ReadDirFS
	fs.StatFS
	fs.ReadLinkFS
} = dir("")

// Dir returns the directory at path as a root for the readers of this package, such as /proc, /sys or the mount of the
// host's /proc in a container. The kernel resolves links.
//
// It is not os.DirFS because of how it reads files. os.ReadFile puts a file into the runtime's poller if the kernel
// lets it, and waits there when a read returns EAGAIN ("try again"). procfs found drivers whose sysfs attributes return
// that and never become ready (an ACPI battery with a stuck controller, a hwmon chip that has lost its device): the
// reader waits for ever. Dir reads files by plain system calls, in which EAGAIN is an error like any other. A file must
// be a regular file, so that a pipe or a device node in the wrong place neither blocks nor acts, and it may have at
// most 1 MiB.
func Dir(path string) fs.FS { return dir(path) }

// IsProcfs reports whether a procfs is mounted at path. Its content belongs to the running machine; files copied from
// another machine are in an ordinary file system.
func IsProcfs(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && stat.Type == unix.PROC_SUPER_MAGIC
}

func (d dir) join(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// path returns the path of name; names that lead out of the root are refused, links are not.
func (d dir) path(operation, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: operation, Path: name, Err: fs.ErrInvalid}
	}
	return d.join(name), nil
}

// ReadFile reads the whole file.
func (d dir) ReadFile(name string) ([]byte, error) {
	path, err := d.path("read", name)
	if err != nil {
		return nil, err
	}
	content, err := readDirectly(path)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return content, nil
}

// ReadDir lists a directory in order of names.
func (d dir) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := d.path("readdir", name)
	if err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}

// Stat describes the target of a name.
func (d dir) Stat(name string) (fs.FileInfo, error) {
	path, err := d.path("stat", name)
	if err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// Lstat describes a name itself.
func (d dir) Lstat(name string) (fs.FileInfo, error) {
	path, err := d.path("lstat", name)
	if err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

// ReadLink returns the target of a link, such as pid:[4026531836].
func (d dir) ReadLink(name string) (string, error) {
	path, err := d.path("readlink", name)
	if err != nil {
		return "", err
	}
	return os.Readlink(path)
}

// Open is required by fs.FS. It reads a file at once, by ReadFile's rules.
func (d dir) Open(name string) (fs.File, error) {
	path, err := d.path("open", name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return os.Open(path)
	}
	content, err := d.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &readFile{bytes.NewReader(content), info}, nil
}

// readFile is a file whose content has been read.
type readFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *readFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *readFile) Close() error               { return nil }

// readDirectly reads a file by plain system calls. The kernel generates most such files on read, so their size is
// meaningless.
func readDirectly(path string) ([]byte, error) {
	fd, err := untilUninterrupted(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := mustBeRegular(fd); err != nil {
		return nil, err
	}
	var first [firstReadBytes]byte // on the stack: hundreds of cgroups have thousands of files
	content := first[:0]
	for {
		if cap(content)-len(content) < firstReadBytes/2 {
			content = slices.Grow(content, firstReadBytes)
		}
		n, err := untilUninterrupted(func() (int, error) { return unix.Read(fd, content[len(content):cap(content)]) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return bytes.Clone(content), nil
		}
		if content = content[:len(content)+n]; len(content) > maxFileBytes {
			return nil, fmt.Errorf("longer than %d bytes", maxFileBytes)
		}
	}
}

func mustBeRegular(fd int) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return unix.EISDIR
	}
	return errors.New("not a regular file")
}

// untilUninterrupted repeats a call that a signal interrupted before it did anything.
func untilUninterrupted(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}
