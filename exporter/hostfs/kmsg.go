package hostfs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// KernelRecord is a record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg):
//
//	4,1187,5140900,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python, GPU has fallen off the bus.
//	 SUBSYSTEM=pci
//
// The lines after the first, which begin with a blank, are its dictionary and are left out.
type KernelRecord struct {
	// Facility is 0 for messages of the kernel itself; programs that write to the device get another. Level is 0, the
	// worst, to 7.
	Facility, Level int
	// Since is the time on the clock of the log, which is that of CLOCK_MONOTONIC but for some milliseconds.
	Since   time.Duration
	Message string
}

// ParseKernelRecord reads one record, as one read of the device returns it.
func ParseKernelRecord(text string) (KernelRecord, error) {
	line, _, _ := strings.Cut(text, "\n")
	head, message, ok := strings.Cut(line, ";")
	fields := strings.Split(head, ",") // priority, sequence, microseconds, flags and what later kernels add
	if !ok || len(fields) < 3 {
		return KernelRecord{}, fmt.Errorf("kernel log: %w: %s", errMalformed, excerpt(line))
	}
	value, err := strconv.ParseUint(fields[0], 10, 16)
	microseconds, timeErr := strconv.ParseUint(fields[2], 10, 53)
	if err != nil || timeErr != nil {
		return KernelRecord{}, fmt.Errorf("kernel log: %w: %s", errMalformed, excerpt(line))
	}
	return KernelRecord{Facility: int(value >> 3), Level: int(value & 7), Since: time.Duration(microseconds) * time.Microsecond, Message: message}, nil
}

// DriverKind is the subject of a line of NVIDIA's driver.
type DriverKind string

// The kinds; the first that matches a line counts.
const (
	DriverXID         DriverKind = "xid"
	DriverFellOffBus  DriverKind = "fell_off_bus"
	DriverOutOfMemory DriverKind = "out_of_memory"
	DriverInitFailed  DriverKind = "init_failed"
	DriverAssertion   DriverKind = "assertion"
	DriverOther       DriverKind = "other"
)

// DriverKinds lists them.
func DriverKinds() []DriverKind {
	return []DriverKind{DriverXID, DriverFellOffBus, DriverOutOfMemory, DriverInitFailed, DriverAssertion, DriverOther}
}

// DriverLine is a line of NVIDIA's driver in the kernel log. Its text is dropped: it may name processes.
type DriverLine struct {
	Kind DriverKind
	XID  uint64 // of DriverXID
}

// warningLevel is printk's default level, and that of all driver messages about errors.
const warningLevel = 4

// DriverLine returns the subject of a line of the driver's kernel modules; ok is false for all other lines, for lines
// that programs wrote, and for lines that are neither an error nor a warning.
func (r KernelRecord) DriverLine() (DriverLine, bool) {
	fromModule := strings.HasPrefix(r.Message, "NVRM: ") || strings.HasPrefix(r.Message, "nvidia")
	if r.Facility != 0 || !fromModule {
		return DriverLine{}, false
	}
	if code, is := xidOf(r.Message); is {
		return DriverLine{DriverXID, code}, true
	}
	if r.Level > warningLevel {
		return DriverLine{}, false
	}
	text := strings.ToLower(r.Message)
	for _, of := range []struct {
		kind  DriverKind
		words []string
	}{
		{DriverFellOffBus, []string{"fallen off the bus"}},
		{DriverOutOfMemory, []string{"out of memory", "nv_err_no_memory"}},
		{DriverInitFailed, []string{"rminitadapter failed", "rm_init_adapter failed", "failed to initialize", "probe of"}},
		{DriverAssertion, []string{"assertion failed", "nvassert", "check failed"}},
	} {
		for _, word := range of.words {
			if strings.Contains(text, word) {
				return DriverLine{Kind: of.kind}, true
			}
		}
	}
	return DriverLine{Kind: DriverOther}, true
}

// FailedAllocation returns the order of an allocation that the kernel could not make: it wanted 2^order contiguous pages.
// ok is false for all other lines, and for lines that programs wrote. The kernel's warn_alloc (mm/page_alloc.c) writes
// "COMM: page allocation failure: order:4, mode:…".
func (r KernelRecord) FailedAllocation() (order uint64, ok bool) {
	_, rest, is := strings.Cut(r.Message, ": page allocation failure: order:")
	if r.Facility != 0 || !is {
		return 0, false
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	order, err := strconv.ParseUint(rest[:digits], 10, 8)
	if err != nil {
		return 0, false
	}
	return order, true
}

// OOMKill is a process that the kernel killed because memory ran out.
type OOMKill struct {
	PID  uint32
	Comm string
	// Cgroup reports that a limit of a cgroup was reached; otherwise the machine had no memory left.
	Cgroup bool
}

// OOMKill returns the process that a line reports as killed. ok is false for all other lines, and for lines that programs
// wrote. The kernel's __oom_kill_process (mm/oom_kill.c) writes
//
//	Out of memory: Killed process 4711 (vllm) total-vm:8123456kB, anon-rss:…
//	Memory cgroup out of memory: Killed process 4711 (vllm) total-vm:…
func (r KernelRecord) OOMKill() (OOMKill, bool) {
	why, rest, is := strings.Cut(r.Message, ": Killed process ")
	if r.Facility != 0 || !is || !strings.HasPrefix(why, "Out of memory") && why != "Memory cgroup out of memory" {
		return OOMKill{}, false
	}
	number, rest, _ := strings.Cut(rest, " (")
	pid, err := strconv.ParseUint(number, 10, 32)
	end := strings.LastIndex(rest, ")") // a name may contain one; nothing after it does
	if err != nil || end < 0 {
		return OOMKill{}, false
	}
	return OOMKill{PID: uint32(pid), Comm: rest[:end], Cgroup: why[0] == 'M'}, true
}

// xidOf returns the code of a line such as "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, …".
func xidOf(message string) (uint64, bool) {
	rest, is := strings.CutPrefix(message, "NVRM: Xid (")
	if !is {
		return 0, false
	}
	_, rest, _ = strings.Cut(rest, "): ")
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	code, err := strconv.ParseUint(rest[:digits], 10, 32)
	return code, err == nil
}
