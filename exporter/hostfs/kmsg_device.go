package hostfs

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// kernelLogBytes exceeds the size of any record of /dev/kmsg.
const kernelLogBytes = 16 << 10

// The ends of reading the kernel log, other than failures.
var (
	// ErrNoRecord is returned when there is no further record yet.
	ErrNoRecord = errors.New("no further record")
	// ErrOverrun is returned once when records were overwritten before they were read; reading continues with the
	// oldest.
	ErrOverrun = errors.New("records of the kernel log were overwritten before they were read")
)

// OpenKernelLog opens /dev/kmsg at its present end. The returned function reads one record and never waits. With
// kernel.dmesg_restrict 1 the call requires CAP_SYSLOG: without it the error is fs.ErrPermission. The error is
// fs.ErrNotExist if there is no such device, as in a container. The device stays open as long as the program.
func OpenKernelLog() (next func() (string, error), err error) { return openKernelLog(unix.SEEK_END) }

// OpenWholeKernelLog opens /dev/kmsg as OpenKernelLog does, at the oldest record that the kernel still has of this boot.
func OpenWholeKernelLog() (next func() (string, error), err error) {
	return openKernelLog(unix.SEEK_SET)
}

func openKernelLog(whence int) (next func() (string, error), err error) {
	const path = "/dev/kmsg"
	fd, err := untilUninterrupted(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err = mustBeCharacterDevice(fd); err == nil {
		_, err = unix.Seek(fd, 0, whence)
	}
	if err == nil {
		return kernelLogReader(fd, path), nil
	}
	_ = unix.Close(fd)
	return nil, &fs.PathError{Op: "seek", Path: path, Err: err}
}

func kernelLogReader(fd int, path string) func() (string, error) {
	buffer := make([]byte, kernelLogBytes)
	return func() (string, error) {
		n, err := untilUninterrupted(func() (int, error) { return unix.Read(fd, buffer) })
		switch {
		case errors.Is(err, unix.EAGAIN):
			return "", ErrNoRecord
		case errors.Is(err, unix.EPIPE):
			return "", ErrOverrun
		case err != nil:
			return "", &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return "", ErrNoRecord
		}
		return string(buffer[:n]), nil
	}
}
