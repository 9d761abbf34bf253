package exporter

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// keepInMemory locks the pages that this process has used, and those that it will use: mlockall(2). When memory runs out the kernel
// drops the pages of programs first, since they can be read again; a recorder then waits for the disk at each step, and does not record
// the minute that it is for. What is not used stays unlocked, so that this costs the exporter's own 20 to 60 MiB.
//
// Below a limit of locked memory it locks nothing: the limit is of address space, of which the Go runtime takes more later, and is then
// refused it, which ends the process.
func keepInMemory() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return fmt.Errorf("limit of locked memory: %w", err)
	}
	if limit.Cur != unix.RLIM_INFINITY {
		return errors.New("locked memory is limited")
	}
	return lockPages()
}

func lockPages() error {
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		return fmt.Errorf("mlockall: %w", err)
	}
	return nil
}
