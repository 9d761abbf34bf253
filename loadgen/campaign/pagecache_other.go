//go:build !linux

package campaign

import (
	"errors"
	"os"
)

func forget(*os.File) error { return errors.ErrUnsupported }

func resident(*os.File, int64) (uint64, error) { return 0, errors.ErrUnsupported }
