package exporter

import (
	"errors"
	"regexp"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// defineCgroup adds the flags of the cgroup collector.
func (l *commandLine) defineCgroup(c *kingpin.CmdClause) {
	o := &l.options.Cgroups
	c.Flag("cgroup.include", "Show the cgroups whose path matches too, besides containers, pods, top-level ones and those that hold GPU memory. The expression may match anywhere in the path.").PlaceHolder("REGEX").SetValue(value[*regexp.Regexp]{"--cgroup.include", &o.Include, expression})
	c.Flag("cgroup.limit", "How many cgroups are shown: those that hold GPU memory first, then containers, the largest first. The rest are counted.").Default("200").SetValue(value[int]{"--cgroup.limit", &o.Limit, atLeast(1)})
	c.Flag("cgroup.detail", "Show every kind of memory that memory.stat has, not only the ten that tell most.").BoolVar(&o.Detail)
	c.Flag("cgroup.runtime-socket", "Ask the Docker-compatible API at this socket for the names of containers, such as /var/run/docker.sock. Whoever may use that socket rules the machine.").PlaceHolder("PATH").SetValue(value[string]{"--cgroup.runtime-socket", &o.RuntimeSocket, socketPath})
	c.Flag("cgroup.names-file", "Take the names of containers from this file, which is read again when it changes: lines of id, name and image, or JSON objects by id with container, image, pod, pod_uid, namespace.").PlaceHolder("FILE").StringVar(&o.NamesFile)
}

// expression parses a regular expression.
func expression(text string) (*regexp.Regexp, error) { return regexp.Compile(text) }

// socketPath parses the path of a socket on this machine, also in the notation of DOCKER_HOST.
func socketPath(text string) (string, error) {
	path := strings.TrimPrefix(text, "unix://")
	if !strings.HasPrefix(path, "/") {
		return "", errors.New("must be the absolute path of a socket such as /var/run/docker.sock")
	}
	return path, nil
}
