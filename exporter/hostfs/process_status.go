package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// ProcessStatus is the memory of a process by kind, in bytes. A field is nil where the kernel has no figure: kernel
// threads and zombies have no memory of their own.
type ProcessStatus struct {
	// InnerPID is the number of the process in its own PID namespace, as the process writes it into its logs; 0 if
	// unknown (kernels before 4.1).
	InnerPID uint32
	// UID is the user for access to files and for the sockets that it makes, nil if unknown.
	UID *uint32
	// Anon, File and Shmem are resident pages: private ones, those of mapped files, and shared memory, which includes
	// the host memory that CUDA has pinned. Pages that several processes map count for each.
	Anon, File, Shmem *uint64
	// Hugetlb are pages of the huge page pool, which are in none of the other fields.
	Hugetlb *uint64
	// Swap is private memory that is swapped out.
	Swap *uint64
}

// ReadProcessStatus reads /proc/<pid>/status (proc_pid_status(5)), which any user may read. procfs has 0 for a field that
// is absent.
//
//	RssAnon:	 3563544 kB
func ReadProcessStatus(proc Dir, pid uint32) (ProcessStatus, error) {
	return parseFile(proc, processFile(pid, "status"), parseProcessStatus)
}

// parseProcessStatus takes the first line of each name. The kernel escapes the process's own name, so that
// it is one line.
func parseProcessStatus(text string) (ProcessStatus, error) {
	var status ProcessStatus
	wanted := map[string]**uint64{
		"RssAnon": &status.Anon, "RssFile": &status.File, "RssShmem": &status.Shmem,
		"HugetlbPages": &status.Hugetlb, "VmSwap": &status.Swap,
	}
	named := false
	err := parseLines(text, func(line string) error {
		key, value, found := strings.Cut(line, ":\t")
		if !found {
			return errMalformed
		}
		named = named || key == "Name"
		switch key {
		case "NSpid":
			return status.setInnerPID(value)
		case "Uid":
			return status.setUID(value)
		}
		field := wanted[key]
		if field == nil || *field != nil {
			return nil
		}
		kibibytes, isMemory := strings.CutSuffix(value, " kB")
		amount, err := parseUint(strings.TrimSpace(kibibytes))
		if err != nil || !isMemory || amount > math.MaxInt64/1024 {
			return errMalformed
		}
		*field = new(amount * 1024)
		return nil
	})
	if err == nil && !named {
		err = fmt.Errorf("%w: no Name", errMalformed)
	}
	if err != nil {
		return ProcessStatus{}, err
	}
	return status, nil
}

// setInnerPID takes the last of the process's numbers, one for each PID namespace that it is in, from the reader's to
// its own.
func (s *ProcessStatus) setInnerPID(numbers string) error {
	pid, err := strconv.ParseUint(numbers[strings.LastIndexByte(numbers, '\t')+1:], 10, 32)
	if err != nil {
		return errMalformed
	}
	s.InnerPID = uint32(pid)
	return nil
}

// setUID takes the last of the four users: real, effective, saved, and that for files.
func (s *ProcessStatus) setUID(users string) error {
	uid, err := strconv.ParseUint(users[strings.LastIndexByte(users, '\t')+1:], 10, 32)
	if err != nil {
		return errMalformed
	}
	s.UID = new(uint32(uid))
	return nil
}

// MayInspect reports whether the reader may inspect processes of other users: their descriptors, I/O and maps. It tries
// on process 1, which belongs to root: capabilities alone do not decide, since a security module can refuse what they
// allow. A supervisor may hide itself from all processes (PR_SET_DUMPABLE), so a second refusal must come from process
// 2, the first kernel thread on a machine. Where there is no such file, there is no refusal.
func MayInspect(proc Dir) bool {
	_, err := proc.ReadFile(processFile(1, "io"))
	if !errors.Is(err, fs.ErrPermission) {
		return true
	}
	_, err = proc.ReadFile(processFile(2, "io"))
	return err == nil
}
