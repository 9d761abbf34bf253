package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// Cgroup is what the kernel reports of a cgroup and all below it, except memory.stat. Amounts are in bytes. A nil field
// is absent: the controller is not enabled for the cgroup, or the kernel is older.
//
// github.com/containerd/cgroups (cgroup2.Manager.StatFiltered) reads these files too; the tests compare this reader with
// it, and fail when it no longer gets these wrong. It does not serve here: it gives 0 for a file or key that is missing,
// and for most that are forbidden, and the largest number for no limit; of "7:7 7:6 7:5 rbytes=" in io.stat it counts the
// traffic for 7:7 instead of 7:5, and it drops discards and most errors; it lacks memory.high; it panics on an empty line
// of a pressure file and logs by itself; and it links eBPF and D-Bus libraries into the exporter. Its Controllers reads a
// file of which only the existence matters here.
type Cgroup struct {
	// Current is the present charge, Peak the highest charge so far (kernel 5.19), Swap is in swap.
	Current, Peak, Swap *uint64
	// Max is the limit above which the kernel kills, High the limit above which it slows tasks down. They are nil
	// without a limit, too.
	Max, High *uint64
	// Events of memory by the kernel's names: low, high, max, oom, oom_kill and so on.
	Events map[string]uint64
	// Pressure by resource: cpu, io, memory.
	Pressure map[string]Pressure
	// CPU is the CPU time of its tasks, Tasks their number, counting threads.
	CPU   CPUTime
	Tasks *uint64
	// IO by device. A device without I/O is missing.
	IO []DeviceIO
}

// ReadCgroup reads the files of a cgroup such as /system.slice. A cgroup that has been removed gives
// fs.ErrNotExist. A file that cannot be read costs its values only, and is in the error.
//
//	memory.current       9663676416
//	memory.max           max
//	memory.events        oom_kill 0
//	pids.current         152
func ReadCgroup(cgroups Dir, cgroup string) (Cgroup, error) {
	r := cgroupReader{cgroups: cgroups, cgroup: cgroup}
	read := Cgroup{
		Current: readPart(&r, "memory.current", parseLimit),
		Peak:    readPart(&r, "memory.peak", parseLimit),
		Swap:    readPart(&r, "memory.swap.current", parseLimit),
		Max:     readPart(&r, "memory.max", parseLimit),
		High:    readPart(&r, "memory.high", parseLimit),
		Events:  readPart(&r, "memory.events", parseKeyed),
		CPU:     readPart(&r, "cpu.stat", parseCPUStat),
		Tasks:   readPart(&r, "pids.current", parseLimit),
		IO:      readPart(&r, "io.stat", parseIOStat),
	}
	for _, resource := range cgroupResources() {
		if pressure := readPart(&r, resource+".pressure", parsePressure); pressure != (Pressure{}) {
			if read.Pressure == nil {
				read.Pressure = make(map[string]Pressure, len(cgroupResources()))
			}
			read.Pressure[resource] = pressure
		}
	}
	if r.found == 0 && isGone(cgroups, cgroup) {
		return Cgroup{}, fmt.Errorf("cgroup %s: %w", cgroup, fs.ErrNotExist)
	}
	return read, errors.Join(r.trouble...)
}

// cgroupResources are the resources whose pressure is read. A fourth, irq, is the time that interrupts took from the
// cgroup, which does not show a lack of any resource.
func cgroupResources() []string { return []string{"cpu", "io", "memory"} }

// CPUTime is time on CPUs, in seconds; nil is absent.
type CPUTime struct{ User, System *float64 }

// parseCPUStat parses the times by mode in cpu.stat. The file has other times, and with a quota its counts.
//
//	usage_usec 1042600
//	user_usec 800100
//	system_usec 242500
func parseCPUStat(text string) (CPUTime, error) {
	values, err := parseKeyed(text)
	if err != nil {
		return CPUTime{}, err
	}
	seconds := func(key string) *float64 {
		microseconds, counted := values[key]
		if !counted {
			return nil
		}
		return new(float64(microseconds) / 1e6)
	}
	return CPUTime{User: seconds("user_usec"), System: seconds("system_usec")}, nil
}

// cgroupReader reads the files of one cgroup.
type cgroupReader struct {
	cgroups Dir
	cgroup  string
	found   int
	trouble []error
}

// readPart reads one file. A missing file gives the zero value.
func readPart[T any](r *cgroupReader, file string, parse func(string) (T, error)) T {
	part, err := parseFile(r.cgroups, inCgroup(r.cgroup, file), parse)
	switch {
	case err == nil:
		r.found++
	case !IsMissing(err):
		r.trouble = append(r.trouble, err)
	}
	return part
}

// IsMissing reports whether the error of a reader means that there is no figure: no such file, a cgroup that was
// removed between opening and reading (ENODEV), pressure that is not accounted for (EOPNOTSUPP).
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP)
}

// parseLimit parses a file with one amount; nil is no limit.
//
//	max
func parseLimit(text string) (*uint64, error) {
	number, ended := strings.CutSuffix(text, "\n")
	if number == "max" && ended {
		return nil, nil
	}
	amount, err := parseUint(number)
	if err != nil || !ended {
		return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	return &amount, nil
}
