//go:build !linux

package arm

import (
	"errors"
	"os"
)

func isCgroup2(string) bool { return false }

func input(string) (*os.File, error) { return nil, errors.ErrUnsupported }
