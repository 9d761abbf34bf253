package workload

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/openai"
)

// alarm is a kernel timer as a file that can be read when its time has come (timerfd_create(2)).
type alarm struct {
	descriptor int // file.Fd would make the file block
	file       *os.File
}

func openAlarm() (*alarm, error) {
	descriptor, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{descriptor, os.NewFile(uintptr(descriptor), "timerfd")}, nil
}

// wait returns when the clock reads until. The clock decides, even if the timer fires early.
func (a *alarm) wait(clock openai.Clock, until int64) error {
	var expirations [8]byte
	for left := until - clock(); left > 0; left = until - clock() {
		once := unix.ItimerSpec{Value: unix.NsecToTimespec(left)}
		if err := unix.TimerfdSettime(a.descriptor, 0, &once, nil); err != nil {
			return os.NewSyscallError("timerfd_settime", err)
		}
		if _, err := a.file.Read(expirations[:]); err != nil {
			return err
		}
	}
	return nil
}
