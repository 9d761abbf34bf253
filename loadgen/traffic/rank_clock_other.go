//go:build !linux

package traffic

import (
	"errors"
	"fmt"
)

// ReadClock returns an error: adjtimex(2) is of Linux.
func ReadClock() (Clock, error) { return Clock{}, fmt.Errorf("adjtimex: %w", errors.ErrUnsupported) }
