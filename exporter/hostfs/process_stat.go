package hostfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

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
	return parseFile(proc, processFile(pid, "stat"), parseProcessStat)
}

// Fields of /proc/<pid>/stat, counted from the state, which is the first after the name.
const (
	statParent      = 1
	statGroup       = 2
	statUserTicks   = 11
	statKernelTicks = 12
	statThreads     = 17
	statStart       = 19
	statLast        = 49 // exit_code, the last field since Linux 3.5
)

// parseProcessStat finds the name between the first and the last parenthesis: it may contain blanks, parentheses and
// ends of lines.
func parseProcessStat(text string) (ProcessStat, error) {
	opened, closed := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	switch {
	case !strings.HasSuffix(text, "\n"):
		return ProcessStat{}, io.ErrUnexpectedEOF
	case opened < 0, closed < opened:
		return ProcessStat{}, fmt.Errorf("%w: no name: %s", errMalformed, excerpt(text))
	}
	fields := strings.Fields(text[closed+1:])
	if len(fields) <= statLast {
		return ProcessStat{}, fmt.Errorf("%w: %d fields after the name", errMalformed, len(fields))
	}
	user, userErr := parseUint(fields[statUserTicks])
	kernel, kernelErr := parseUint(fields[statKernelTicks])
	threads, threadsErr := parseUint(fields[statThreads])
	start, startErr := parseUint(fields[statStart])
	parent, parentErr := strconv.ParseUint(fields[statParent], 10, 32)
	group, groupErr := strconv.ParseInt(fields[statGroup], 10, 32) // -1 when the process has just ended
	if errors.Join(userErr, kernelErr, threadsErr, startErr, parentErr, groupErr) != nil {
		return ProcessStat{}, fmt.Errorf("%w: %s", errMalformed, excerpt(text[closed+1:]))
	}
	return ProcessStat{
		Comm:       text[opened+1 : closed],
		CPUSeconds: (float64(user) + float64(kernel)) / ticksPerSecond,
		Threads:    threads, StartTicks: start, Parent: uint32(parent), Group: uint32(max(group, 0)),
	}, nil
}

// ProcessIO is the I/O of a process, with the children it has waited for, at the storage layer, in bytes: reads that
// the page cache answered are not in it, O_DIRECT is.
type ProcessIO struct {
	Read, Written uint64
	// CancelledWrite was counted as written but never was, since the file was removed before.
	CancelledWrite uint64
}

// ReadProcessIO reads /proc/<pid>/io (Documentation/filesystems/proc.rst, 3.3). Without the right to inspect another
// user's process the error is fs.ErrPermission.
//
//	read_bytes: 13221392384
func ReadProcessIO(proc Dir, pid uint32) (ProcessIO, error) {
	return parseFile(proc, processFile(pid, "io"), parseProcessIO)
}

func parseProcessIO(text string) (ProcessIO, error) {
	var io ProcessIO
	wanted := map[string]*uint64{"read_bytes": &io.Read, "write_bytes": &io.Written, "cancelled_write_bytes": &io.CancelledWrite}
	err := parseLines(text, func(line string) error {
		key, number, _ := strings.Cut(line, ": ")
		value, err := parseUint(number)
		if err != nil || value > math.MaxInt64 {
			return errMalformed
		}
		if field := wanted[key]; field != nil {
			*field = value
			delete(wanted, key)
		}
		return nil
	})
	if err == nil && len(wanted) > 0 {
		err = fmt.Errorf("%w: not all of read_bytes, write_bytes, cancelled_write_bytes", errMalformed)
	}
	if err != nil {
		return ProcessIO{}, err
	}
	return io, nil
}

// ReadBootTime reads the time of the machine's boot, in seconds since 1970, from /proc/stat.
//
//	btime 1779442561
func ReadBootTime(proc Dir) (float64, error) { return parseFile(proc, "stat", parseBootTime) }

func parseBootTime(text string) (float64, error) {
	booted, found := uint64(0), false
	err := parseLines(text, func(line string) (err error) {
		if number, is := strings.CutPrefix(line, "btime "); is && !found {
			found = true
			booted, err = parseUint(number)
		}
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: no btime", errMalformed)
	}
	if err != nil {
		return 0, err
	}
	return float64(booted), nil
}

// IsGone reports whether an error of a process's file means that the process has ended: before the file was opened, or
// between that and reading it, where the kernel answers "no such process".
func IsGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }
