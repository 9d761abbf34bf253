package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nvmeAdminCommand is struct nvme_admin_cmd of linux/nvme_ioctl.h, which golang.org/x/sys/unix lacks.
type nvmeAdminCommand struct {
	opcode                 uint8
	_                      [3]uint8
	namespace              uint32
	_, _                   uint32
	_, data                uint64
	_, dataBytes           uint32
	dword10                uint32
	_, _, _, _, _          uint32 // dwords 11 to 15
	timeoutMilliseconds, _ uint32
}

const (
	// ioctlNVMeAdmin is NVME_IOCTL_ADMIN_CMD: _IOWR('N', 0x41, struct nvme_admin_cmd).
	ioctlNVMeAdmin = 3<<30 | unsafe.Sizeof(nvmeAdminCommand{})<<16 | 'N'<<8 | 0x41

	nvmeGetLogPage     = 0x02
	nvmeHealthLog      = 0x02
	nvmeAllNamespaces  = 0xffffffff
	nvmeTimeoutMillis  = 5000
	nvmeDevicePathRoot = "/dev/"
)

// ReadSMARTLog asks the controller of this machine, such as nvme0, for its health log (Get Log Page 02h). That requires
// CAP_SYS_ADMIN and the device node /dev/nvme0; without them the error is fs.ErrPermission or fs.ErrNotExist. The drive
// composes the log on request, so a drive in trouble can block the caller for many seconds.
func ReadSMARTLog(controller string) ([]byte, error) {
	if !nvmeController.MatchString(controller) {
		return nil, fmt.Errorf("%.40q is no NVMe controller", controller)
	}
	path := nvmeDevicePathRoot + controller
	fd, err := untilUninterrupted(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if err := mustBeCharacterDevice(fd); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	log, err := getHealthLog(fd)
	if err != nil {
		return nil, &fs.PathError{Op: "health log", Path: path, Err: err}
	}
	return log, nil
}

func mustBeCharacterDevice(fd int) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFCHR {
		return errors.New("not a character device")
	}
	return nil
}

func getHealthLog(fd int) ([]byte, error) {
	log := make([]byte, SMARTLogBytes)
	command := nvmeAdminCommand{
		opcode: nvmeGetLogPage, namespace: nvmeAllNamespaces,
		dataBytes: SMARTLogBytes, dword10: nvmeHealthLog | (SMARTLogBytes/4-1)<<16,
		timeoutMilliseconds: nvmeTimeoutMillis,
	}
	// The kernel gets the address as a number, which is invisible to the garbage collector.
	var pinned runtime.Pinner
	defer pinned.Unpin()
	pinned.Pin(&log[0])
	command.data = uint64(uintptr(unsafe.Pointer(&log[0])))
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ioctlNVMeAdmin, uintptr(unsafe.Pointer(&command)))
	switch {
	case errno != 0:
		return nil, errno
	case status != 0:
		return nil, fmt.Errorf("the controller answers with status %#x", status)
	}
	return log, nil
}
