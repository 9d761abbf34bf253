package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// cost is what a client took, with the processes that it waited for.
type cost struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	PeakBytes  int64   `json:"peak_bytes"`
	ExitCode   int     `json:"exit_code"`
}

// measureCost runs a command. Its exit code is in the file.
func measureCost(file string, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return err
	}
	state := cmd.ProcessState
	c := cost{CPUSeconds: (state.UserTime() + state.SystemTime()).Seconds(), ExitCode: state.ExitCode()}
	if usage, is := state.SysUsage().(*syscall.Rusage); is {
		c.PeakBytes = usage.Maxrss << 10
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
