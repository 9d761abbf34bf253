package nvml

import "strconv"

// xidName is how the answer to CallXIDErrors names a code.
func xidName(code uint64) string { return strconv.FormatUint(code, 10) }

// applyXIDErrors takes the counts in; what is no code, as a recording may have it, is passed over.
func applyXIDErrors(d *draft, v Value) {
	d.XIDErrors = make(map[uint64]uint64, len(v.Numbers))
	for name, count := range v.Numbers {
		if code, err := strconv.ParseUint(name, 10, 64); err == nil {
			d.XIDErrors[code] = count
		}
	}
}
