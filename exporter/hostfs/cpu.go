package hostfs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of CPU times in procfs: USER_HZ, which is 100 on x86-64 and arm64 whatever the tick rate
// of the kernel itself.
const ticksPerSecond = 100

// CPUSeconds are times by mode.
type CPUSeconds map[string]float64

// cpuModes are the columns of /proc/stat up to steal. The two that follow, guest and guest_nice, are
// already in user and nice.
func cpuModes() []string {
	return []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}
}

// ReadCPUSeconds reads the time that all CPUs together have spent in each mode since boot, from the first line of
// /proc/stat. Times of idle CPUs may go back by a little, since the kernel estimates them. procfs has 0 for a column that
// is absent, and parses the lines of all CPUs for this one.
//
//	cpu  695175 24566 168959 1160454 6072 0 2634 2912 0 0
func ReadCPUSeconds(proc Dir) (CPUSeconds, error) {
	return parseFile(proc, "stat", parseCPUSeconds)
}

func parseCPUSeconds(text string) (CPUSeconds, error) {
	line, _, ended := strings.Cut(text, "\n")
	if !ended {
		return nil, io.ErrUnexpectedEOF
	}
	fields := strings.Fields(line)
	modes := cpuModes()
	if len(fields) <= len(modes) || fields[0] != "cpu" {
		return nil, fmt.Errorf("line 1: %w: %s", errMalformed, excerpt(line))
	}
	times := make(CPUSeconds, len(modes))
	for i, mode := range modes {
		ticks, err := parseUint(fields[i+1])
		if err != nil || ticks > math.MaxInt64 {
			return nil, fmt.Errorf("line 1: %w: %s", errMalformed, excerpt(line))
		}
		times[mode] = float64(ticks) / ticksPerSecond
	}
	return times, nil
}

// CPUFrequency is the clock that a CPU was last set to.
type CPUFrequency struct {
	CPU   string // number
	Hertz float64
}

var cpuDirectory = regexp.MustCompile(`^cpu([0-9]+)$`)

// ReadCPUFrequencies reads the clocks of the CPUs, in kHz. A CPU that is off or whose driver has no reading is left
// out; a machine without frequency scaling, such as a virtual one, gives none. procfs gives all CPUs up for one that
// lacks a file.
//
//	devices/system/cpu/cpu0/cpufreq/scaling_cur_freq  3900000
func ReadCPUFrequencies(sys Dir) ([]CPUFrequency, error) {
	const root = "devices/system/cpu"
	entries, err := sys.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var frequencies []CPUFrequency
	var errs []error
	for _, entry := range entries {
		parts := cpuDirectory.FindStringSubmatch(entry.Name())
		if parts == nil {
			continue
		}
		hertz, err := parseFile(sys, root+"/"+entry.Name()+"/cpufreq/scaling_cur_freq", parseKilohertz)
		if err == nil && hertz > 0 {
			frequencies = append(frequencies, CPUFrequency{parts[1], hertz})
		}
		errs = append(errs, unlessNoReading(err))
	}
	return frequencies, errors.Join(errs...)
}

// parseKilohertz returns 0 for a clock that the driver cannot read or has no entry for.
//
//	3900000
func parseKilohertz(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if text == "<unknown>" {
		return 0, nil
	}
	kilohertz, err := strconv.ParseUint(text, 10, 32) // an unsigned int of the kernel
	if err != nil {
		return 0, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	if kilohertz == math.MaxUint32 { // CPUFREQ_ENTRY_INVALID of include/linux/cpufreq.h
		return 0, nil
	}
	return float64(kilohertz) * 1e3, nil
}
