package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// The environment and the configuration of a process name files, and the user who controls the process may name
// anything: a pipe, a device, a link that leads out of its container. Such files are read under the root of that
// process and by rules that exclude these cases.

// maxForeignBytes is the maximum number of bytes read of a file at a time.
const maxForeignBytes = 1 << 20

// maxForeignLinks is the maximum number of links behind a name; /etc/cufile.json has two, made by update-alternatives.
const maxForeignLinks = 8

// ReadForeign reads a file by the name that a process has for it, an absolute path under /proc/<pid>/root. It must be a
// regular file of at most 1 MiB. It is opened without leaving that root, without following links of procfs and without
// waiting (openat2(2), Linux 5.6; on older kernels, which have no safe way, it is an error).
func ReadForeign(proc Dir, pid uint32, name string) ([]byte, error) {
	file, err := openForeign(proc, pid, name)
	if err != nil {
		return nil, err
	}
	defer file.close()
	if file.size > maxForeignBytes {
		return nil, fmt.Errorf("%s: %w: %d bytes", file.name, ErrTooLong, file.size)
	}
	content, err := file.readAt(0, maxForeignBytes+1)
	if err == nil && len(content) > maxForeignBytes {
		err = fmt.Errorf("%s: %w", file.name, ErrTooLong)
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

// LogPosition is the position up to which a log has been read.
type LogPosition struct {
	// File identifies the log, whatever its name.
	File string
	// Offset is the offset of the first unread byte.
	Offset uint64
}

// FollowForeign reads the whole lines that were added to a log of a process since the last read, at most 1 MiB of them;
// the rest is left for the next call. The caller passes the offset up to which it has read the file that the name leads
// to now, if it has read that file. If the file is new to the caller, or has become shorter since, the last 1 MiB are
// new. The file is opened as by ReadForeign.
func FollowForeign(proc Dir, pid uint32, name string, read func(file string) (offset uint64, known bool)) (lines string, now LogPosition, err error) {
	file, err := openForeign(proc, pid, name)
	if err != nil {
		return "", LogPosition{}, err
	}
	defer file.close()
	offset, known := read(file.id)
	fresh := !known || file.size < offset
	if fresh {
		offset = file.size - min(file.size, maxForeignBytes)
	}
	// Allocate only what can be read: mostly the log has not grown.
	content, err := file.readAt(offset, int(min(file.size-offset, maxForeignBytes)))
	if err != nil {
		return "", LogPosition{}, err
	}
	lines, done := wholeLines(string(content), fresh && offset > 0)
	return lines, LogPosition{File: file.id, Offset: offset + uint64(done)}, nil
}

// wholeLines cuts a piece of a file down to whole lines. The first line is dropped if the piece begins within it. read
// is how much of the piece is consumed. A line that fills the piece is dropped.
func wholeLines(piece string, within bool) (lines string, read int) {
	end := strings.LastIndexByte(piece, '\n') + 1
	if end == 0 && len(piece) < maxForeignBytes {
		return "", 0
	}
	if end == 0 {
		return "", len(piece)
	}
	begin := 0
	if within {
		begin = strings.IndexByte(piece, '\n') + 1
	}
	return piece[begin:end], end
}

// ForeignWorkingDirectory returns a process's working directory, by the process's own name.
func ForeignWorkingDirectory(proc Dir, pid uint32) (string, error) {
	directory, err := ReadProcessLink(proc, pid, "cwd")
	if err != nil {
		return "", err
	}
	return ForeignPath(proc, pid, directory), nil
}

// ReadProcessLink reads a link of /proc/<pid>, such as fd/3, as the kernel shows it. A recording keeps the files that such
// links lead to below the root of the process, so that none leads out of it to a file of this machine.
func ReadProcessLink(proc Dir, pid uint32, name string) (string, error) {
	link, err := proc.ReadLink(processFile(pid, name))
	if inside, recorded := strings.CutPrefix(link, proc.path(processFile(pid, "root"))+"/"); recorded {
		link = "/" + inside
	}
	return link, err
}

// ForeignPath translates the target of a link of /proc/<pid>, a path of the mount namespace, to the process's own path
// for it: within the namespace it can have a root of its own (chroot).
func ForeignPath(proc Dir, pid uint32, link string) string {
	root, err := proc.ReadLink(processFile(pid, "root"))
	if err == nil && root != "/" && (link == root || strings.HasPrefix(link, root+"/")) {
		link = link[len(root):]
	}
	return path.Clean("/" + link)
}

// foreignFile is an open regular file.
type foreignFile struct {
	name string // for people
	id   string
	size uint64
	fd   int
}

func (f *foreignFile) close() { unix.Close(f.fd) }

func openForeign(proc Dir, pid uint32, name string) (*foreignFile, error) {
	if !path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return nil, fmt.Errorf("file of process %d: %w path: %s", pid, errMalformed, excerpt(name))
	}
	root, inRoot := processFile(pid, "root"), path.Clean(name)
	rootPath, err := proc.open("open", root)
	if err != nil {
		return nil, err
	}
	shown := proc.shown(root + inRoot)
	file, err := openInRoot(rootPath, inRoot)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: shown, Err: err}
	}
	return newForeignFile(shown, file)
}

// openInRoot opens a file for reading below the directory root, which it takes for the root of all paths. It reads
// links at the end of a path and starts again with their target, by the same rules, because the open itself follows no
// links.
func openInRoot(root, name string) (int, error) {
	rootFD, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(rootFD)
	for range maxForeignLinks {
		fd, err := resolve(rootFD, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
		if err != unix.ELOOP {
			return fd, err
		}
		target, err := readLinkIn(rootFD, name)
		if err != nil {
			return -1, err
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		name = target
	}
	return -1, unix.ELOOP
}

// resolve opens a path that cannot lead out of the root, nor through a link of procfs, nor be a link itself.
func resolve(rootFD int, name string, flags uint64) (int, error) {
	return unix.Openat2(rootFD, name, &unix.OpenHow{
		Flags:   flags | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// readLinkIn reads a link, except links of procfs: those lead elsewhere than their text.
func readLinkIn(rootFD int, name string) (string, error) {
	fd, err := resolve(rootFD, name, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var fsType unix.Statfs_t
	if err := unix.Fstatfs(fd, &fsType); err != nil {
		return "", err
	}
	if fsType.Type == unix.PROC_SUPER_MAGIC {
		return "", unix.ELOOP
	}
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buffer)
	if err != nil {
		return "", err
	}
	return string(buffer[:n]), nil
}

// newForeignFile makes a file of a descriptor and takes ownership of it.
func newForeignFile(name string, fd int) (*foreignFile, error) {
	var stat unix.Stat_t
	err := mustBeRegular(fd)
	if err == nil {
		err = unix.Fstat(fd, &stat)
	}
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: err}, unix.Close(fd))
	}
	return &foreignFile{name, fmt.Sprintf("%d:%d", stat.Dev, stat.Ino), uint64(max(stat.Size, 0)), fd}, nil
}

// readAt reads from an offset to the end of the file or the limit.
func (f *foreignFile) readAt(offset uint64, limit int) ([]byte, error) {
	buffer := make([]byte, limit)
	read := 0
	for read < limit {
		n, err := untilUninterrupted(func() (int, error) { return unix.Pread(f.fd, buffer[read:], int64(offset)+int64(read)) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: f.name, Err: os.NewSyscallError("pread", err)}
		}
		if n == 0 {
			break
		}
		read += n
	}
	return buffer[:read], nil
}
