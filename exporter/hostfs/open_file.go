package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrTooLong is wrapped where a process has more than the limit that is read; what was read is returned with it.
var ErrTooLong = errors.New("longer than is read")

// maxOpenFiles is the maximum number of descriptors read of one process: engines have hundreds, a proxy may have a
// million.
const maxOpenFiles = 4096

// OpenFile is a descriptor that a process holds.
type OpenFile struct {
	FD int
	// Target is the target of the descriptor: a path of the process's mount namespace (see ForeignPath), or the
	// kernel's name for a file without path, such as socket:[26411]. The process chooses the path, so it is untrusted.
	Target string
	// Deleted reports that the path no longer leads there.
	Deleted bool

	// SizeBytes and Direct are set for regular files only. Direct reports that the file is read and written past the
	// page cache (O_DIRECT).
	SizeBytes *uint64
	Direct    *bool
	// Inode is the number of the file in its file system, 0 if unknown, and Device the device of that file system as
	// major:minor, "" if unknown.
	Inode  uint64
	Device string
}

// OpenFiles lists the open files of a process, from /proc/<pid>/fd:
//
//	188 -> /mnt/nvme/kvbm/dynamo-kvbm-disk-cache-Xa91Qz (deleted)
//
// It reads links and the status of their targets, and opens no file, since that would wait for the other end of a pipe
// or operate a device. A descriptor that is closed meanwhile is left out. If a process has more than the limit, the
// first are returned, with ErrTooLong. Without the right to inspect another user's process the error is
// fs.ErrPermission. procfs reads all descriptors, however many.
func OpenFiles(proc Dir, pid uint32) ([]OpenFile, error) {
	directory := processFile(pid, "fd")
	names, more, err := proc.Names(directory, maxOpenFiles)
	if err != nil {
		return nil, err
	}
	var files []OpenFile
	for _, name := range names {
		file, err := readOpenFile(proc, pid, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			files = append(files, file)
		}
	}
	slices.SortFunc(files, func(a, b OpenFile) int { return a.FD - b.FD })
	if more {
		return files, fmt.Errorf("%s: %w: %d descriptors", proc.shown(directory), ErrTooLong, maxOpenFiles)
	}
	return files, nil
}

// deletedRemark is what the kernel appends to a path that has been removed (d_path in fs/d_path.c). A name may end like
// this too, but the names that this package looks for do not.
const deletedRemark = " (deleted)"

func readOpenFile(proc Dir, pid uint32, name string) (OpenFile, error) {
	fd, err := strconv.Atoi(name)
	if err != nil {
		return OpenFile{}, fmt.Errorf("%w descriptor: %s", errMalformed, excerpt(name))
	}
	link, err := ReadProcessLink(proc, pid, "fd/"+name)
	if err != nil {
		return OpenFile{}, err
	}
	file := OpenFile{FD: fd}
	file.Target, file.Deleted = strings.CutSuffix(link, deletedRemark)
	if !strings.HasPrefix(file.Target, "/") {
		return file, nil
	}
	info, err := proc.Stat(processFile(pid, "fd/"+name))
	if err != nil || !info.Mode().IsRegular() {
		return file, nil
	}
	file.SizeBytes = new(uint64(max(info.Size(), 0)))
	if stat, live := info.Sys().(*syscall.Stat_t); live {
		file.Inode, file.Device = stat.Ino, fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev))
	}
	if info, err := parseFile(proc, processFile(pid, "fdinfo/"+name), parseFDInfo); err == nil {
		file.Direct = new(info.direct())
		if file.Inode == 0 {
			file.Inode = info.inode
		}
	}
	return file, nil
}

// fdInfo is the content of /proc/<pid>/fdinfo/<fd> of a regular file.
type fdInfo struct {
	flags uint64 // as of open(2), in the numbers of the host's architecture
	inode uint64 // since Linux 5.14, 0 before
}

// parseFDInfo reads the flags, which are octal, and the inode number (Documentation/filesystems/proc.rst,
// 3.8). The rest differs by the kind of file; locks follow in lines of their own.
//
//	flags:	02600002
func parseFDInfo(text string) (fdInfo, error) {
	var info fdInfo
	found := false
	err := parseLines(text, func(line string) (err error) {
		key, value, _ := strings.Cut(line, ":\t")
		switch {
		case key == "flags" && !found:
			found = true
			info.flags, err = strconv.ParseUint(value, 8, 64)
		case key == "ino" && info.inode == 0:
			info.inode, err = parseUint(value)
		}
		if err != nil {
			return errMalformed
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: no flags", errMalformed)
	}
	if err != nil {
		return fdInfo{}, err
	}
	return info, nil
}

// direct reports whether the flags of a regular file have O_DIRECT. Each architecture uses the number of the other
// one's O_DIRECTORY:
//
//	          O_DIRECT  O_DIRECTORY
//	x86-64     040000      0200000
//	arm64     0200000       040000
//
// Only a directory can be opened with O_DIRECTORY, so either bit means O_DIRECT on either architecture. The exception
// is O_TMPFILE, which includes O_DIRECTORY.
func (i fdInfo) direct() bool {
	const either, temporary = 0o240000, 0o20000000
	if i.flags&temporary != 0 {
		return i.flags&either == either
	}
	return i.flags&either != 0
}
