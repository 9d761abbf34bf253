package collect

import (
	"context"
	"fmt"
)

// cufileSpec is the collector of GPUDirect Storage.
func cufileSpec() Spec {
	return Spec{
		Name: "cufile",
		Help: "GPUDirect Storage: which mode cuFile works in, and what nvidia-fs counts.",
		Open: func(Host, Options) Collect {
			return func(context.Context, *Sample, *Batch) error { return fmt.Errorf("%w: not written yet", ErrAbsent) }
		},
	}
}
