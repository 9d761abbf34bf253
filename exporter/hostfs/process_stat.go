package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// ProcessStat is the content of /proc/<pid>/stat.
type ProcessStat struct {
	// Comm is its short name, bytes that it chose.
	Comm string
	// CPUSeconds is the time in user and kernel mode of all its threads, ended ones too.
	CPUSeconds float64
	// Threads is the number of its threads.
	Threads uint64
	// StartTicks is the start time, in ticks of 10 ms since boot. It and the PID together identify a process: the
	// kernel reuses a PID some time after its process has ended.
	StartTicks uint64
	// Parent is the process that started it, or that took it over, and Group its process group.
	Parent, Group uint32
}

// StartSeconds returns the start time of the process, in seconds since 1970, on a machine booted at bootSeconds.
func (s ProcessStat) StartSeconds(bootSeconds float64) float64 {
	return bootSeconds + float64(s.StartTicks)/ticksPerSecond
}

// ReadProcessStat reads /proc/<pid>/stat (proc_pid_stat(5)).
//
//	735 (python3) R 405 404 404 0 -1 4194560 1431138 0 174 0 2116 673 0 0 20 0 18 0 9933 88293875712 ...
func ReadProcessStat(proc Dir, pid uint32) (ProcessStat, error) {
	return readProcess(proc, pid, "stat", func(process procfs.Proc) (ProcessStat, error) {
		read, err := process.Stat()
		if err == nil && (read.NumThreads < 0 || read.PPID < 0 || max(read.PPID, read.PGRP) > math.MaxInt32) {
			err = fmt.Errorf("%w: %d threads, parent %d, group %d", errMalformed, read.NumThreads, read.PPID, read.PGRP)
		}
		return ProcessStat{
			Comm: read.Comm, CPUSeconds: read.CPUTime(), Threads: uint64(read.NumThreads), StartTicks: read.Starttime,
			Parent: uint32(read.PPID), Group: uint32(max(read.PGRP, 0)), // -1 when the process has just ended
		}, err
	})
}

// ReadProcessIO reads /proc/<pid>/io (Documentation/filesystems/proc.rst, 3.3): the I/O of a process, with the children it
// has waited for. Its bytes are at the storage layer: reads that the page cache answered are not in them, O_DIRECT is;
// cancelled writes were counted as written but never were, since the file was removed before. Without the right to
// inspect another user's process the error is fs.ErrPermission.
//
//	read_bytes: 13221392384
func ReadProcessIO(proc Dir, pid uint32) (procfs.ProcIO, error) {
	return readProcess(proc, pid, "io", func(process procfs.Proc) (procfs.ProcIO, error) {
		read, err := process.IO()
		if err == nil && (read.CancelledWriteBytes < 0 || max(read.ReadBytes, read.WriteBytes) > math.MaxInt64) {
			err = fmt.Errorf("%w: %+v", errMalformed, read)
		}
		return read, err
	})
}

// ReadBootTime reads the time of the machine's boot, in seconds since 1970, from /proc/stat.
//
//	btime 1779442561
func ReadBootTime(proc Dir) (float64, error) {
	return readProcfs(proc, "stat", func(tree procfs.FS) (float64, error) {
		read, err := tree.Stat()
		if err == nil && read.BootTime == 0 {
			err = fmt.Errorf("%w: no btime", errMalformed)
		}
		return float64(read.BootTime), err
	})
}

// IsGone reports whether an error of a process's file means that the process has ended: before the file was opened, or
// between that and reading it, where the kernel answers "no such process".
func IsGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }
