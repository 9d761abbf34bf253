//go:build !linux

package subprocess

import (
	"errors"
	"os"
	"syscall"
)

func startIn(*os.File, *syscall.SysProcAttr) error { return errors.ErrUnsupported }
