package collect

import (
	"context"
	"fmt"
)

// kvbmSpec is the collector of KV block managers.
func kvbmSpec() Spec {
	return Spec{
		Name: "kvbm",
		Help: "KV blocks moved between device, host and disk by Dynamo KVBM, and its disk-tier files.",
		Open: func(Host, Options) Collect {
			return func(context.Context, *Sample, *Batch) error { return fmt.Errorf("%w: not written yet", ErrAbsent) }
		},
	}
}
