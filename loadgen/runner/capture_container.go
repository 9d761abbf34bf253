package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/subprocess"
)

const (
	// containerTimeout is the longest that one command of the container engine may take.
	containerTimeout = 20 * time.Second
	// mostInspected is the most of an inspection that is read, mostLogged the most of a log that is kept, in bytes.
	mostInspected = 8 << 20
	mostLogged    = 64 << 20
)

// hostConfigKeys are the members of HostConfig (docker inspect) that can change what a run measures.
func hostConfigKeys() []string {
	return []string{
		"Binds", "BlkioWeight", "CapAdd", "CapDrop", "CgroupParent", "CgroupnsMode", "CpuPeriod", "CpuQuota", "CpuShares", "CpusetCpus",
		"CpusetMems", "DeviceRequests", "Devices", "IpcMode", "Memory", "MemoryReservation", "MemorySwap", "MemorySwappiness", "NanoCpus",
		"NetworkMode", "OomKillDisable", "OomScoreAdj", "PidMode", "PidsLimit", "Privileged", "ReadonlyRootfs", "Runtime", "SecurityOpt",
		"ShmSize", "StorageOpt", "Tmpfs", "Ulimits", "UsernsMode",
	}
}

// container is a running container and the program that manages it.
type container struct {
	tool string
	name string
}

// containerName accepts the names that docker and podman accept, so that a name is never read as an option.
func containerName(s string) (string, error) {
	if !regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,255}$`).MatchString(s) {
		return "", fmt.Errorf("%q is no name or id of a container", s)
	}
	return s, nil
}

// findContainer asks docker, then podman.
func findContainer(ctx context.Context, name string) (container, rundir.Container, containerStart, error) {
	var errs []error
	for _, tool := range []string{"docker", "podman"} {
		if _, err := exec.LookPath(tool); err != nil {
			continue
		}
		c := container{tool, name}
		facts, process, err := c.inspect(ctx)
		if err == nil {
			return c, facts, process, nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return container{}, rundir.Container{}, containerStart{}, errors.New("neither docker nor podman is installed here")
	}
	return container{}, rundir.Container{}, containerStart{}, errors.Join(errs...)
}

func (c container) inspect(ctx context.Context) (rundir.Container, containerStart, error) {
	text, err := askProgram(ctx, c.tool, "inspect", "--type", "container", c.name)
	if err != nil {
		return rundir.Container{}, containerStart{}, err
	}
	facts, process, err := parseInspected(text)
	if err != nil {
		return facts, process, fmt.Errorf("%s: container %s %w", c.tool, c.name, err)
	}
	facts.Name, facts.Tool = c.name, c.tool
	facts.Digests, facts.ImageLayers, err = c.image(ctx, facts.ImageID)
	if err == nil {
		process.Changed, process.ChangedErr = c.changed(ctx)
	}
	return facts, process, err
}

// containerStart is how the engine was started, from its container's configuration. It may hold secrets: it is hashed
// and never recorded.
type containerStart struct {
	Argv, Env []string
	// ImageID is the ID of the container's image.
	ImageID string
	// Changed are lines of docker diff, such as "C /usr/lib/x.py". ChangedErr is the reason if they could not be read.
	Changed    []string
	ChangedErr error
}

// changed lists the files that differ from the image.
func (c container) changed(ctx context.Context) ([]string, error) {
	text, err := askProgram(ctx, c.tool, "diff", c.name)
	return strings.Split(strings.TrimSpace(string(text)), "\n"), err
}

// parseInspected reads what `docker inspect` prints, an array such as
//
//	[{"Id":"4f1c","Image":"sha256:9d","State":{"Running":true,"StartedAt":"2026-11-20T10:00:00Z"},"Config":{"Image":"vllm:1"},"HostConfig":{"Memory":0}}]
func parseInspected(text []byte) (rundir.Container, containerStart, error) {
	var found []struct {
		ID    string `json:"Id"`
		Image string
		State struct {
			Running   bool
			StartedAt time.Time
		}
		Path   string
		Args   []string
		Config struct {
			Image string
			Env   []string
		}
		HostConfig map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &found); err != nil || len(found) != 1 {
		return rundir.Container{}, containerStart{}, errors.New("is not the description of one container")
	}
	one := found[0]
	if !one.State.Running {
		return rundir.Container{}, containerStart{}, errors.New("is not running")
	}
	facts := rundir.Container{
		ID: one.ID, Image: one.Config.Image, ImageID: one.Image, StartedAt: one.State.StartedAt, HostConfig: map[string]json.RawMessage{},
	}
	for _, key := range hostConfigKeys() {
		if value, ok := one.HostConfig[key]; ok {
			facts.HostConfig[key] = value
		}
	}
	return facts, containerStart{Argv: append([]string{one.Path}, one.Args...), Env: one.Config.Env, ImageID: one.Image}, nil
}

// image returns the digests of an image, such as vllm/vllm-openai@sha256:9d…, and its number of layers.
func (c container) image(ctx context.Context, image string) (digests []string, layers int, err error) {
	if _, err := containerName(strings.TrimPrefix(image, "sha256:")); err != nil {
		return nil, 0, fmt.Errorf("%s: %q is no id of an image", c.tool, image)
	}
	text, err := askProgram(ctx, c.tool, "image", "inspect", image)
	if err != nil {
		return nil, 0, err
	}
	var found []struct {
		RepoDigests []string
		RootFS      struct{ Layers []string }
	}
	if err := json.Unmarshal(text, &found); err != nil || len(found) != 1 {
		return nil, 0, fmt.Errorf("%s image inspect: not the description of one image", c.tool)
	}
	return found[0].RepoDigests, len(found[0].RootFS.Layers), nil
}

// askProgram runs a short program and returns its output.
func askProgram(ctx context.Context, tool string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	command := subprocess.Limited(ctx, append([]string{tool}, args...)...)
	printed, complained := subprocess.Bounded{MostBytes: mostInspected}, subprocess.Bounded{MostBytes: 512}
	command.Stdout, command.Stderr = &printed, &complained
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", tool, args[0], err, openai.Printable(strings.TrimSpace(complained.Kept.String()), openai.LongestForeign))
	}
	return printed.Kept.Bytes(), nil
}

// log writes what the container printed between two times. Stdout and stderr are one stream, as the tool prints them.
func (c container) log(ctx context.Context, out io.Writer, from, to time.Time, flags ...string) error {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	flags = append(flags, "--since", from.UTC().Format(time.RFC3339Nano), "--until", to.UTC().Format(time.RFC3339Nano), c.name)
	command := subprocess.Limited(ctx, append([]string{c.tool, "logs"}, flags...)...)
	command.Stdout, command.Stderr = out, out
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s logs: %w", c.tool, err)
	}
	return nil
}

// keepLog keeps the log of the container from the run's start on. If the container is gone, it adds a warning; a run
// that was measured does not fail for it.
func (s *Capture) keepLog(ctx context.Context) {
	if s.container == nil || s.manifest.StartedAt.IsZero() {
		return
	}
	out, err := s.folder.NewLog(rundir.LogsFolder+"/container-"+s.container.name+".log", mostLogged)
	if err == nil {
		redacted := &redactedLog{to: out, secrets: openai.NewRedactor(s.secrets())}
		err = s.container.log(ctx, redacted, s.manifest.StartedAt, time.Now(), "--timestamps")
		err = errors.Join(err, redacted.Close())
		cut, closeErr := out.Close()
		if err = errors.Join(err, closeErr); cut && err == nil {
			err = fmt.Errorf("cut off after %d MiB", mostLogged>>20)
		}
	}
	if err != nil {
		s.described.LogError = openai.Printable(err.Error(), openai.LongestForeign)
	}
}

// mostStart is the most of the container's start log that is read, in bytes.
const mostStart = 8 << 20

// startLog writes what the container printed between its start and that of the run: there an engine reports its
// memory. For a container that was started for the run, it writes everything up to now. It returns false if there is
// no container.
func (s *Capture) startLog(ctx context.Context, out io.Writer) (bool, error) {
	if s.container == nil || s.manifest.StartedAt.IsZero() {
		return false, nil
	}
	until := s.manifest.StartedAt
	if !until.After(s.described.StartedAt) {
		until = time.Now()
	}
	limited := &front{to: out, left: mostStart}
	err := s.container.log(ctx, limited, s.described.StartedAt, until)
	if limited.left == 0 {
		err = nil // the rest of the log is not needed
	}
	return true, err
}

// errEnough stops reading a log once enough of it was read.
var errEnough = errors.New("enough")

// front passes on the first bytes that are written to it, then returns errEnough.
type front struct {
	to   io.Writer
	left int
}

func (f *front) Write(text []byte) (int, error) {
	keep := text[:min(len(text), f.left)]
	f.left -= len(keep)
	n, err := f.to.Write(keep)
	if err == nil && f.left == 0 {
		err = errEnough
	}
	return n, err
}
