package nvml

import "strconv"

// xidName is the name of a code in the answer to CallXIDErrors.
func xidName(code uint64) string { return strconv.FormatUint(code, 10) }

// applyXIDErrors applies the counts; entries that are no codes, as a recording may have, are skipped.
func applyXIDErrors(d *reading, v Value) {
	d.XIDErrors = make(map[uint64]uint64, len(v.Numbers))
	for name, count := range v.Numbers {
		if code, err := strconv.ParseUint(name, 10, 64); err == nil {
			d.XIDErrors[code] = count
		}
	}
}
