package collect

import (
	"context"
	"fmt"
)

// networkSpec is the collector of network ports.
func networkSpec() Spec {
	return Spec{
		Name: "network",
		Help: "network interfaces and RoCE ports: bytes, errors, link.",
		Open: func(Host, Options) Collect {
			return func(context.Context, *Sample, *Batch) error { return fmt.Errorf("%w: not written yet", ErrAbsent) }
		},
	}
}
