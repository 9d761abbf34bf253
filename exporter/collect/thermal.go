package collect

import (
	"context"
	"fmt"
)

// thermalSpec is the collector of heat, power and clocks outside the GPU.
func thermalSpec() Spec {
	return Spec{
		Name: "thermal",
		Help: "thermal zones, hwmon sensors and power rails, CPU clocks and CPU time.",
		Open: func(Host, Options) Collect {
			return func(context.Context, *Sample, *Batch) error { return fmt.Errorf("%w: not written yet", ErrAbsent) }
		},
	}
}
