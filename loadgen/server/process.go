package server

import (
	"errors"
	"fmt"

	"github.com/prometheus/procfs"
)

// Process is how a process was started. It may hold secrets: it is hashed and never recorded.
type Process struct {
	Argv []string
	// Environ is the environment as NAME=VALUE; nil if only root may read it.
	Environ []string
}

// ProcessBehind reads how the process was started that listens at a server's address on this machine.
func ProcessBehind(address string) (Process, error) {
	port, err := loopbackPort(address)
	if err != nil {
		return Process{}, err
	}
	proc, err := procfs.NewFS(procPath)
	if err != nil {
		return Process{}, err
	}
	pid, err := listeningProcess(proc, port)
	if err != nil {
		return Process{}, err
	}
	return readProcess(proc, pid)
}

// readProcess reads a command line and an environment. It refuses a command line of one word, which is a title that
// the process has written over it, and the proxy of a container, which is not the engine.
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
