// Package cuda measures the bandwidth of a GPU's memory with CUDA's driver library, libcuda.so.1, which is loaded at run
// time and only when a measurement is asked for.
package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// What a measurement does: copies from one half of BufferBytes to the other. The buffer is several times as large as the
// level-2 cache of any part (60 MB on an H200), and a measure has several copies, since the start of one takes a few
// microseconds, and one takes 60 on an H200.
const (
	BufferBytes = 256 << 20
	Copies      = 10 // of a measure
	Measures    = 100
)

// ErrUnavailable is wrapped when there is no library, device or cgo to measure with.
var ErrUnavailable = errors.New("no CUDA")

// Device is a GPU that CUDA offers to this process, with the time of each measure.
type Device struct {
	Name    string
	Seconds []float64
}

// Bandwidth is bytes a second, read and written.
type Bandwidth struct{ Best, Median float64 }

// Bandwidth computes it from the times of the measures.
func (d Device) Bandwidth() (Bandwidth, error) {
	if len(d.Seconds) == 0 {
		return Bandwidth{}, errors.New("no copy was measured")
	}
	times := slices.Sorted(slices.Values(d.Seconds))
	if !(times[0] > 0) || math.IsInf(times[len(times)-1], 0) {
		return Bandwidth{}, fmt.Errorf("the GPU's clock gave %g s for %d copies", times[0], Copies)
	}
	// Each copy reads a half and writes the other.
	const bytes = float64(BufferBytes * Copies)
	middle := len(times) / 2
	median := times[middle]
	if len(times)%2 == 0 {
		median = (times[middle-1] + times[middle]) / 2
	}
	return Bandwidth{Best: bytes / times[0], Median: bytes / median}, nil
}
