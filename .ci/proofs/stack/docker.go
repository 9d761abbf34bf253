package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// docker is the docker program, with the engine of this pass and the compose of its tools.
type docker struct {
	environment []string
	folder      string // the working directory
}

// client returns a docker client of an engine. Its compose is the one of the tools, as a plug-in, the same as on users'
// machines.
func (e *engine) client(tools string) docker {
	config := filepath.Join(e.folder, "docker")
	if tools != "" {
		plugins := filepath.Join(config, "cli-plugins")
		// An error here shows in the first call of compose.
		_ = os.MkdirAll(plugins, 0o755)
		_ = os.Symlink(filepath.Join(tools, "docker-compose"), filepath.Join(plugins, "docker-compose"))
	}
	return docker{folder: e.folder, environment: append(os.Environ(), "DOCKER_HOST="+e.socket(), "DOCKER_CONFIG="+config,
		"UMASCOPE_VERSION="+provenVersion, "UMASCOPE_REVISION="+provenRevision, "BUILDKIT_PROGRESS=quiet", "COMPOSE_ANSI=never")}
}

// in is docker, called in another folder.
func (d docker) in(folder string) docker {
	d.folder = folder
	return d
}

// with returns docker with additional environment variables.
func (d docker) with(variables ...string) docker {
	d.environment = append(append([]string{}, d.environment...), variables...)
	return d
}

// output runs a program with the environment of docker. An error has the end of the output, and keeps the exit code.
func (d docker) output(ctx context.Context, command ...string) (stdout, stderr string, err error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	// SIGINT first, so that compose stops its containers.
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 30 * time.Second
	c.Dir, c.Env = d.folder, d.environment
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err = c.Run(); err != nil {
		all := strings.TrimSpace(out.String() + problems.String())
		err = fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, all[max(0, len(all)-1500):])
	}
	return out.String(), problems.String(), err
}

// say returns the output of a docker command.
func (d docker) say(ctx context.Context, arguments ...string) (string, error) {
	out, _, err := d.output(ctx, append([]string{"docker"}, arguments...)...)
	return strings.TrimSpace(out), err
}

func (d docker) quiet(ctx context.Context, arguments ...string) error {
	_, err := d.say(ctx, arguments...)
	return err
}

// exitCode returns the exit code in an error of output, -1 if there is none.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// container is the output of docker inspect, as far as this proof reads it.
type container struct {
	Name  string
	Image string
	State struct {
		Pid    int
		Status string
		Health *struct {
			Status string
			Log    []struct{ Output string }
		}
	}
	RestartCount int
	HostConfig   struct {
		Memory      int64
		NanoCpus    int64
		PidsLimit   *int64
		NetworkMode string
	}
	Config struct {
		User   string
		Labels map[string]string
	}
}

func (c container) service() string { return c.Config.Labels["com.docker.compose.service"] }

// containers of the stack, running or not.
func (d docker) containers(ctx context.Context) ([]container, error) {
	ids, err := d.say(ctx, "ps", "--all", "--quiet", "--filter", "label=com.docker.compose.project=umascope")
	if err != nil || ids == "" {
		return nil, err
	}
	text, err := d.say(ctx, append([]string{"inspect"}, strings.Fields(ids)...)...)
	if err != nil {
		return nil, err
	}
	var all []container
	return all, json.Unmarshal([]byte(text), &all)
}

// everything lists containers, volumes and networks, without the default networks of an engine.
func (d docker) everything(ctx context.Context) ([]string, error) {
	var all []string
	for _, kind := range [][]string{
		{"container", "ls", "--all", "--format", "container {{.Names}}"},
		{"volume", "ls", "--format", "volume {{.Name}}"},
		{"network", "ls", "--filter", "type=custom", "--format", "network {{.Name}}"},
	} {
		text, err := d.say(ctx, kind...)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all, nil
}
