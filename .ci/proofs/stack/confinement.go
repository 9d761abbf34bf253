package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// The capabilities that the exporter has, as bits.
const (
	capDACReadSearch = 1 << 2
	capSysPtrace     = 1 << 19
)

// confined checks the state of the first process of each container in the kernel against compose.yaml: a read-only
// root, no capability but the stated ones, no way to gain any, a filter of system calls, limits.
func (p *proof) confined(ctx context.Context, capabilities map[string]uint64) (string, error) {
	all, err := p.docker.containers(ctx)
	if err != nil {
		return "", err
	}
	slices.SortFunc(all, func(a, b container) int { return strings.Compare(a.service(), b.service()) })
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "service\tuser\tcapabilities\tnew privileges\tsystem calls\troot\tmemory\tprocesses\tnetwork")
	var problems []error
	for _, c := range all {
		k, err := kernelSays(c.State.Pid)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.service(), err)
		}
		fmt.Fprintf(w, "%s\t%s\t%#x\t%s\t%s\t%s\t%d MiB\t%s\t%s\n", c.service(), k.user, k.capabilities, word(k.noNewPrivileges, "none", "POSSIBLE"),
			word(k.filtered, "filtered", "ALL"), word(k.readOnly, "read-only", "WRITABLE"), k.memory>>20, k.processes, c.HostConfig.NetworkMode)
		if k.capabilities != capabilities[c.service()] {
			problems = append(problems, fmt.Errorf("%s has capabilities %#x, and should have %#x", c.service(), k.capabilities, capabilities[c.service()]))
		}
		if !k.noNewPrivileges || !k.filtered || !k.readOnly {
			problems = append(problems, fmt.Errorf("%s is not held: %+v", c.service(), k))
		}
		if k.memory == 0 || k.memory != c.HostConfig.Memory {
			problems = append(problems, fmt.Errorf("%s may use %d bytes of memory, and should be held to %d", c.service(), k.memory, c.HostConfig.Memory))
		}
		if k.processes == "max" || k.processes == "" {
			problems = append(problems, fmt.Errorf("%s may have any number of processes", c.service()))
		}
		if c.HostConfig.NanoCpus == 0 && c.service() != "load" {
			problems = append(problems, fmt.Errorf("%s may use every CPU", c.service()))
		}
	}
	w.Flush()
	return strings.TrimRight(b.String(), "\n"), errors.Join(problems...)
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// held is the confinement of a process in the kernel.
type held struct {
	user                                string
	capabilities                        uint64
	noNewPrivileges, filtered, readOnly bool
	memory                              int64
	processes                           string
}

func kernelSays(pid int) (held, error) {
	var h held
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return h, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		switch name {
		case "Uid":
			h.user = fields[1] // the effective one
		case "CapBnd": // the bounding set: no process in the container can have more
			if h.capabilities, err = strconv.ParseUint(fields[0], 16, 64); err != nil {
				return h, err
			}
		case "NoNewPrivs":
			h.noNewPrivileges = fields[0] == "1"
		case "Seccomp":
			h.filtered = fields[0] == "2"
		}
	}
	mounts, err := os.ReadFile(filepath.Join(folder, "mountinfo"))
	if err != nil {
		return h, err
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 5 && fields[4] == "/" {
			h.readOnly = slices.Contains(strings.Split(fields[5], ","), "ro")
		}
	}
	groups, err := os.ReadFile(filepath.Join(folder, "cgroup"))
	if err != nil {
		return h, err
	}
	limit, err := limitOf(string(groups), "memory", "memory.limit_in_bytes", "memory.max")
	if err != nil {
		return h, err
	}
	if h.memory, err = strconv.ParseInt(limit, 10, 64); err != nil {
		return h, fmt.Errorf("the limit of memory is %q", limit)
	}
	h.processes, err = limitOf(string(groups), "pids", "pids.max", "pids.max")
	return h, err
}

// limitOf reads a limit where the kernel keeps it: in version 1 of cgroups a tree for each controller, in version 2 one.
func limitOf(groups, controller, v1, v2 string) (string, error) {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		path := ""
		if slices.Contains(strings.Split(fields[1], ","), controller) {
			path = filepath.Join("/sys/fs/cgroup", controller, fields[2], v1)
		} else if fields[1] == "" {
			path = filepath.Join("/sys/fs/cgroup", fields[2], v2)
		}
		if path == "" {
			continue
		}
		if text, err := os.ReadFile(path); err == nil {
			return strings.TrimSpace(string(text)), nil
		}
	}
	return "", fmt.Errorf("no limit of %s is to be found", controller)
}
