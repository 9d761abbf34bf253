package metric

import (
	"slices"
	"testing"
)

// TestErrorsOfHardwareAreCountedByTheirCode: a code that the exporter counts under other would never be matched.
func TestErrorsOfHardwareAreCountedByTheirCode(t *testing.T) {
	for _, code := range HardwareXIDs() {
		if !slices.ContainsFunc(KnownXIDs(), func(x XID) bool { return x.Code == code }) {
			t.Errorf("XID %d is not counted by itself", code)
		}
	}
	for _, faultOfAProgram := range []uint64{13, 31, 43, 45} {
		if slices.Contains(HardwareXIDs(), faultOfAProgram) {
			t.Errorf("XID %d is mostly the fault of a program", faultOfAProgram)
		}
	}
}
