//go:build !cgo

package cuda

import (
	"context"
	"fmt"
)

// Measure measures the GPUs that CUDA offers to this process, one after the other.
func Measure(context.Context) ([]Device, error) {
	return nil, fmt.Errorf("%w: this program was built without cgo and cannot call the driver", ErrUnavailable)
}
