package campaign

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forget evicts the pages of a file. Dirty pages have to be written first; pages that a process has mapped stay.
func forget(file *os.File) error {
	if err := unix.Fdatasync(int(file.Fd())); err != nil {
		return err
	}
	return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// errNotShown is the error for a file whose pages the kernel shows only to users who may write it.
var errNotShown = errors.New("the kernel does not show what of it is in memory")

// resident returns how many bytes of a file are in memory, in whole pages.
func resident(file *os.File, size int64) (uint64, error) {
	if size == 0 {
		return 0, nil
	}
	var stat unix.Cachestat_t
	err := unix.Cachestat(uint(file.Fd()), &unix.CachestatRange{}, &stat, 0)
	switch {
	case err == nil:
		return stat.Cache * uint64(os.Getpagesize()), nil
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP): // before Linux 6.5, and for huge pages
		return mincore(file, size)
	}
	return 0, errNotShown
}

// window is how much is mapped at once, in bytes.
const window = 1 << 30

// mincore uses mincore(2), which older kernels have. For a user without write access to the file the kernel reports
// that all of it is in memory, which is not usable.
func mincore(file *os.File, size int64) (uint64, error) {
	if unix.Faccessat(unix.AT_FDCWD, file.Name(), unix.W_OK, unix.AT_EACCESS) != nil {
		return 0, errNotShown
	}
	page := int64(os.Getpagesize())
	var pages uint64
	for at := int64(0); at < size; at += window {
		length := min(window, size-at)
		mapped, err := unix.Mmap(int(file.Fd()), at, int(length), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return 0, err
		}
		answer := make([]byte, (length+page-1)/page)
		// The unix package does not have this call.
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(length), uintptr(unsafe.Pointer(&answer[0])))
		if err := unix.Munmap(mapped); err != nil || errno != 0 {
			return 0, errors.Join(err, errnoError(errno))
		}
		for _, one := range answer {
			pages += uint64(one & 1)
		}
	}
	return pages * uint64(page), nil
}

func errnoError(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}
