package server

import (
	"errors"
	"fmt"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/loadgen/socket"
)

// Process is how a process was started. It may hold secrets: it is hashed and never recorded.
type Process struct {
	Argv []string
	// Environ has NAME=VALUE; nil where only root may read it.
	Environ []string
}

// ProcessBehind reads how the process was started that listens at the address of a server on this machine.
func ProcessBehind(address string) (Process, error) {
	port, err := loopbackPort(address)
	if err != nil {
		return Process{}, err
	}
	proc, err := procfs.NewFS(procPath)
	if err != nil {
		return Process{}, err
	}
	pid, err := socket.Listener(proc, port)
	if err != nil {
		return Process{}, err
	}
	return readProcess(proc, pid)
}

// readProcess reads a command line and an environment. Processes that have overwritten their command line with a title have
// one word left, and that of a container's proxy is not the engine's.
func readProcess(proc procfs.FS, pid int) (Process, error) {
	process, err := proc.Proc(pid)
	if err != nil {
		return Process{}, err
	}
	argv, err := process.CmdLine()
	if err != nil {
		return Process{}, fmt.Errorf("the command line of process %d cannot be read", pid)
	}
	name, _ := process.Comm()
	switch {
	case len(argv) < 2:
		return Process{}, fmt.Errorf("process %d has no command line with arguments: it may have set a title in its place", pid)
	case name == "docker-proxy", name == "rootlessport":
		return Process{}, errors.New("the engine is in a container: --container names it")
	}
	environ, err := process.Environ()
	if err != nil {
		environ = nil
	}
	return Process{argv, environ}, nil
}
