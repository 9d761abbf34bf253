package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// Pressure is the time lost waiting for a resource since boot, in seconds. Nil is absent: irq has no Some line, and cpu
// had no Full line before kernel 5.13.
type Pressure struct {
	// Some is the time in which at least one task waited, Full the time in which all did.
	Some, Full *float64
}

// PressureResources are the resources for which there may be a file.
func PressureResources() []string { return []string{"cpu", "io", "irq", "memory"} }

// ReadPressure reads /proc/pressure/<resource>, whose totals are in microseconds. A kernel built without pressure stall
// information, or started with it turned off, returns fs.ErrNotExist. The text is that of a cgroup's pressure files, for
// which procfs has no reader: one parser serves both.
//
//	some avg10=0.00 avg60=0.12 avg300=0.05 total=10481234
func ReadPressure(proc Dir, resource string) (Pressure, error) {
	pressure, err := parseFile(proc, "pressure/"+resource, parsePressure)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return Pressure{}, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return pressure, err
}

func parsePressure(text string) (Pressure, error) {
	var pressure Pressure
	err := parseLines(text, func(line string) error {
		kind, rest, _ := strings.Cut(line, " ")
		_, total, found := strings.Cut(rest, "total=")
		microseconds, err := parseUint(total)
		if !found || err != nil {
			return errMalformed
		}
		seconds := float64(microseconds) / 1e6
		switch kind {
		case "some":
			pressure.Some = &seconds
		case "full":
			pressure.Full = &seconds
		default:
			return errMalformed
		}
		return nil
	})
	if err != nil {
		return Pressure{}, err
	}
	return pressure, nil
}
