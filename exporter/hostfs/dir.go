package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// Dir is the mount point of a kernel file system of a host: /proc, /sys or /sys/fs/cgroup of the running machine, or a
// folder with the files of another one. Names below it have slashes and no leading one; links are followed.
//
// Its files are read by plain system calls, not by os.ReadFile, which puts a file into the runtime's poller if the
// kernel lets it, and waits there when a read returns EAGAIN ("try again"). procfs found drivers whose sysfs attributes
// return that and never become ready (an ACPI battery with a stuck controller, a hwmon chip that has lost its device):
// the reader waits for ever. A file must be a regular file, so that a pipe or a device node in the wrong place neither
// blocks nor acts, and it may have at most 1 MiB. Files of proc that the library procfs reads are the exception: no file of
// a mounted procfs returns EAGAIN or blocks, and those of a folder are checked before (see readProcfs).
type Dir struct {
	Path string
	// Temporary is set for a folder whose path means nothing to people: messages name its files without it.
	Temporary bool
	// Refuse is asked before a name is read, listed, described or opened; its error is then that of the operation. Only
	// tests set it, to make the kernel's refusals happen; nil refuses nothing.
	Refuse func(name string) error
}

// IsProcfs reports whether a procfs is mounted at path. Its content belongs to the running machine; files copied from
// another machine are in an ordinary file system.
func IsProcfs(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && stat.Type == unix.PROC_SUPER_MAGIC
}

func (d Dir) path(name string) string { return filepath.Join(d.Path, filepath.FromSlash(name)) }

// shown is the name of a file for messages.
func (d Dir) shown(name string) string {
	if d.Temporary {
		return name
	}
	return d.path(name)
}

// failed is the error of an operation on a name.
func (d Dir) failed(operation, name string, err error) error {
	if of, is := errors.AsType[*fs.PathError](err); is {
		err = of.Err
	}
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: operation, Path: d.shown(name), Err: err}
}

// open returns the path of a name to open; names that lead out of the directory are refused, links are not.
func (d Dir) open(operation, name string) (string, error) {
	var err error
	switch {
	case !fs.ValidPath(name) || d.Path == "":
		err = fs.ErrInvalid
	case d.Refuse != nil:
		err = d.Refuse(name)
	}
	if err != nil {
		return "", d.failed(operation, name, err)
	}
	return d.path(name), nil
}

// ReadFile reads the whole file.
func (d Dir) ReadFile(name string) ([]byte, error) {
	path, err := d.open("read", name)
	if err != nil {
		return nil, err
	}
	content, err := readDirectly(path)
	return content, d.failed("read", name, err)
}

// ReadDir lists a directory in order of names.
func (d Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := d.open("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	return entries, d.failed("readdir", name, err)
}

// Names lists up to limit names of a directory, in no order; more reports that there are others. ReadDir would read and
// sort all of them first.
func (d Dir) Names(name string, limit int) (names []string, more bool, err error) {
	path, err := d.open("readdir", name)
	if err != nil {
		return nil, false, err
	}
	directory, err := os.Open(path)
	if err != nil {
		return nil, false, d.failed("open", name, err)
	}
	defer directory.Close()
	names, err = directory.Readdirnames(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, d.failed("readdir", name, err)
	}
	return names[:min(len(names), limit)], len(names) > limit, nil
}

// Stat describes the target of a name.
func (d Dir) Stat(name string) (fs.FileInfo, error) {
	path, err := d.open("stat", name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	return info, d.failed("stat", name, err)
}

// Lstat describes a name itself.
func (d Dir) Lstat(name string) (fs.FileInfo, error) {
	path, err := d.open("lstat", name)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	return info, d.failed("lstat", name, err)
}

// ReadLink returns the target of a link, such as pid:[4026531836].
func (d Dir) ReadLink(name string) (string, error) {
	path, err := d.open("readlink", name)
	if err != nil {
		return "", err
	}
	target, err := os.Readlink(path)
	return target, d.failed("readlink", name, err)
}

// scanLines calls visit with each line of a file, without its end, until visit returns that it is done. It keeps one
// piece of the file in memory at a time, since the kernel may generate megabytes. whole reports that the file had at
// most limit bytes.
func (d Dir) scanLines(name string, limit int, visit func(line string) bool) (whole bool, err error) {
	path, err := d.open("read", name)
	if err != nil {
		return false, err
	}
	whole, err = scanDirectly(path, limit, visit)
	return whole, d.failed("read", name, err)
}

func scanDirectly(path string, limit int, visit func(line string) bool) (whole bool, err error) {
	fd, err := openDirectly(path)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	buffer := make([]byte, 64<<10)
	kept := 0
	for total := 0; total <= limit; {
		n, err := untilUninterrupted(func() (int, error) { return unix.Read(fd, buffer[kept:]) })
		if err != nil {
			return false, err
		}
		if n == 0 {
			return true, nil
		}
		total += n
		rest, more := visitLines(buffer[:kept+n], visit)
		if !more {
			return true, nil
		}
		if kept = copy(buffer, rest); kept == len(buffer) {
			kept = 0 // no line of the kernel is that long
		}
	}
	return false, nil
}

// visitLines calls visit with the whole lines of a piece, until visit returns that it is done, and returns the bytes
// after the last line.
func visitLines(piece []byte, visit func(line string) bool) (rest []byte, more bool) {
	for {
		line, rest, ended := bytes.Cut(piece, []byte("\n"))
		if !ended {
			return piece, true
		}
		if !visit(string(line)) {
			return nil, false
		}
		piece = rest
	}
}

// readDirectly reads a file. The kernel generates most such files on read, so their size is meaningless.
func readDirectly(path string) ([]byte, error) {
	fd, err := openDirectly(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
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

// openDirectly opens a regular file without waiting.
func openDirectly(path string) (fd int, err error) {
	fd, err = untilUninterrupted(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return -1, err
	}
	if err := mustBeRegular(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
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
