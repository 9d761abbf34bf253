package exporter

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
)

const (
	// dockerSocket is where Docker listens, unless DOCKER_HOST names another address.
	dockerSocket = "unix:///var/run/docker.sock"
	// containersTimeout is many times what Docker needs for its list.
	containersTimeout = time.Second
)

// nameContainers adds the names of containers, as far as Docker lists them to the user. Names are no more than a help:
// without Docker, or without access to its
// socket, cgroups keep their paths.
func (l *commandLine) nameContainers(ctx context.Context, x *explanation) {
	socket, err := socketPath(cmp.Or(l.options.Cgroups.RuntimeSocket, os.Getenv("DOCKER_HOST"), dockerSocket))
	if err != nil || x.Memory == nil || len(x.Memory.Holders) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, containersTimeout)
	defer cancel()
	names, err := collector.ContainerNames(ctx, socket)
	if err != nil {
		return
	}
	for i := range x.Memory.Holders {
		x.Memory.Holders[i].nameContainer(names)
	}
	for i := range x.Memory.Groups {
		x.Memory.Groups[i].nameContainer(names)
	}
}

func (p *place) nameContainer(names map[string]hostfs.ContainerName) {
	p.Container = names[p.containerID()].Container
}

// containerID is the id of the container whose cgroup this is, "" if it is none or has none.
func (p place) containerID() string { return hostfs.IdentifyCgroup(p.Cgroup).ID }
