package hostfs

import (
	"fmt"
	"math"
	"strings"
)

// Meminfo holds the amounts of /proc/meminfo in bytes, by the kernel's names. A field that the kernel lacks is missing.
// The HugePages_ fields, which count pages, are left out: Hugetlb is their memory.
type Meminfo map[string]uint64

// ReadMeminfo reads /proc/meminfo. Without MemTotal it is an error: then it is another file.
//
//	MemAvailable:   118566368 kB
func ReadMeminfo(proc Dir) (Meminfo, error) { return parseFile(proc, "meminfo", parseMeminfo) }

func parseMeminfo(text string) (Meminfo, error) {
	meminfo := make(Meminfo, strings.Count(text, "\n"))
	if err := parseLines(text, meminfo.addLine); err != nil {
		return nil, err
	}
	if meminfo["MemTotal"] == 0 {
		return nil, fmt.Errorf("%w: no MemTotal", errMalformed)
	}
	return meminfo, nil
}

// addLine adds a field, unless it is a number of pages.
func (m Meminfo) addLine(line string) error {
	name, amount, found := strings.Cut(line, ":")
	if !found || name == "" {
		return errMalformed
	}
	kibibytes, isMemory := strings.CutSuffix(strings.TrimSpace(amount), " kB")
	value, err := parseUint(kibibytes)
	if err != nil || value > math.MaxInt64/1024 {
		return errMalformed
	}
	if isMemory {
		m[name] = value * 1024
	}
	return nil
}
