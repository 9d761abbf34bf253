package collect

import (
	"context"
	"fmt"
	"regexp"
)

// ProcessOptions are the settings of the process collector.
type ProcessOptions struct {
	// Match adds the processes whose name (comm) matches to those that hold GPU memory. Nil adds none.
	Match *regexp.Regexp
}

// processSpec is the collector of single processes.
func processSpec() Spec {
	return Spec{
		Name: "process",
		Help: "processes that use a GPU: resident memory by kind, swap, CPU time, storage I/O.",
		Open: func(Host, Options) Collect {
			return func(context.Context, *Sample, *Batch) error { return fmt.Errorf("%w: not written yet", ErrAbsent) }
		},
	}
}
