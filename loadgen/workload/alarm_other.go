//go:build !linux

package workload

import (
	"errors"
	"os"

	"github.com/umascope/umascope/loadgen/openai"
)

// alarm is of Linux. Elsewhere the pacer waits with the runtime's timers.
type alarm struct{ file *os.File }

func openAlarm() (*alarm, error) { return nil, errors.ErrUnsupported }

func (*alarm) wait(openai.Clock, int64) error { return errors.ErrUnsupported }
