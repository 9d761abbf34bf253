package hostfs

import (
	"context"
	"errors"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The size of the part of a file that one call reads, so that a reading can be cancelled in between, and so that
// mincore's answer of a byte per page stays small.
const (
	cachestatWindow = 64 << 30
	mincoreWindow   = 1 << 30
)

// cachedBytes returns how much of an open regular file is in the page cache.
//
// cachestat(2), since Linux 6.5, counts pages. Older kernels lack it, and the system call filters of older container
// runtimes forbid calls that they do not list. The older way is to map the file and to call mincore(2), which reports
// each page. On overlayfs only that is right: the open file has no pages of its own, and a mapping of it leads to the
// file in the lower layer, which has them.
func cachedBytes(ctx context.Context, fd int, stat *unix.Stat_t) (uint64, error) {
	var mount unix.Statfs_t
	if err := unix.Fstatfs(fd, &mount); err != nil {
		return 0, err
	}
	switch int64(mount.Type) {
	case unix.HUGETLBFS_MAGIC:
		return 0, errors.New("huge pages of hugetlbfs are no page cache")
	case unix.OVERLAYFS_SUPER_MAGIC:
		return mincoreBytes(ctx, fd, stat)
	}
	bytes, err := cachestatBytes(ctx, fd, stat.Size)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return mincoreBytes(ctx, fd, stat)
	}
	return bytes, err
}

// cachestatBytes calls cachestat(2), of which golang.org/x/sys/unix has only the number.
func cachestatBytes(ctx context.Context, fd int, size int64) (uint64, error) {
	var pages uint64
	for offset := int64(0); offset < size; offset += cachestatWindow {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		window := struct{ offset, length uint64 }{uint64(offset), uint64(min(cachestatWindow, size-offset))}
		var counts struct{ cached, dirty, writeback, evicted, recentlyEvicted uint64 }
		_, _, errno := unix.Syscall6(unix.SYS_CACHESTAT, uintptr(fd), uintptr(unsafe.Pointer(&window)), uintptr(unsafe.Pointer(&counts)), 0, 0, 0)
		if errno != 0 {
			return 0, errno
		}
		pages += counts.cached
	}
	return pages * uint64(os.Getpagesize()), nil
}

// mincoreBytes maps the file part by part, without access to its content, and calls mincore(2). Since Linux 5.2 the
// call reports every page as cached to callers without permission, so it is used only with permission. (gVisor reports
// that to every caller.)
func mincoreBytes(ctx context.Context, fd int, stat *unix.Stat_t) (uint64, error) {
	if !maySeeCache(fd, stat) {
		return 0, ErrCacheHidden
	}
	pageSize := os.Getpagesize()
	resident := make([]byte, mincoreWindow/pageSize)
	var pages uint64
	for offset := int64(0); offset < stat.Size; offset += mincoreWindow {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		count, err := mincorePages(fd, offset, int(min(mincoreWindow, stat.Size-offset)), resident)
		if err != nil {
			return 0, err
		}
		pages += count
	}
	return pages * uint64(pageSize), nil
}

func mincorePages(fd int, offset int64, length int, resident []byte) (count uint64, err error) {
	mapping, err := unix.Mmap(fd, offset, length, unix.PROT_NONE, unix.MAP_SHARED)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unix.Munmap(mapping)) }()
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapping[0])), uintptr(length), uintptr(unsafe.Pointer(&resident[0])))
	if errno != 0 {
		return 0, errno
	}
	pageSize := os.Getpagesize()
	for _, page := range resident[:(length+pageSize-1)/pageSize] {
		count += uint64(page & 1)
	}
	return count, nil
}

// overflowUID is the owner that the kernel shows for a UID outside the user namespace; capabilities do not apply to
// such files.
const overflowUID = 65534

// maySeeCache is the kernel's rule (can_do_mincore in mm/mincore.c): the owner, a process with CAP_FOWNER, and one
// that could open the file for writing.
func maySeeCache(fd int, stat *unix.Stat_t) bool {
	switch {
	case int(stat.Uid) == os.Geteuid(), stat.Uid != overflowUID && HasCapability(unix.CAP_FOWNER):
		return true
	}
	// Before Linux 5.8 there is no such check of an open file: then the answer is no.
	return unix.Faccessat(fd, "", unix.W_OK, unix.AT_EACCESS|unix.AT_EMPTY_PATH) == nil
}

// endOf is nil at the end of a directory.
func endOf(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
