package nvml

import "testing"

// BenchmarkPass is what a pass costs beside the calls of the driver: fake answers take no time.
func BenchmarkPass(b *testing.B) {
	f := newFake(1)
	f.set(0, CallFields, Value{Numbers: map[string]uint64{"energy": 1, "sw_power_cap": 2, "ecc_corrected": 3, "remapped_pending": 4}})
	f.set(0, CallClockEvents, Value{Number: 4})
	r := NewReader(forgetful{f}, ReaderOptions{})
	defer r.Close()
	for b.Loop() {
		if _, err := r.Read(b.Context()).Snapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// forgetful is a fake that does not note what it was asked.
type forgetful struct{ *fake }

func (f forgetful) Do(device int, call Call) (Value, Return) {
	a, known := f.answers[question{device, call}]
	if !known {
		return Value{}, NotSupported
	}
	return a.value, a.code
}
