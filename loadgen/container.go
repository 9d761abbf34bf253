package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const (
	// containerTimeout bounds one question to the container engine.
	containerTimeout = 20 * time.Second
	// mostInspected bounds what it may answer, mostLogged what of a log is kept.
	mostInspected = 8 << 20
	mostLogged    = 64 << 20

	folderLogs = "logs"
)

// containerFacts are of the container that the engine runs in: what decides over memory, storage
// and network of a run. Neither its environment nor its command line is read.
type containerFacts struct {
	Name string `json:"name"`
	// Tool is what was asked: docker or podman.
	Tool    string `json:"tool"`
	ID      string `json:"id"`
	Image   string `json:"image"`
	ImageID string `json:"image_id"`
	// Digests are those of the image at its registries; none of one that was built here.
	Digests   []string  `json:"digests,omitempty"`
	StartedAt time.Time `json:"started_at"`
	// HostConfig has the engine's own names and values; see hostConfigKeys.
	HostConfig map[string]json.RawMessage `json:"host_config"`
	// LogError is why its log of the run is missing or cut off.
	LogError string `json:"log_error,omitempty"`
}

// hostConfigKeys are the members of HostConfig (docker inspect) that can change what a run measures.
func hostConfigKeys() []string {
	return []string{
		"Binds", "BlkioWeight", "CapAdd", "CapDrop", "CgroupParent", "CgroupnsMode", "CpuPeriod", "CpuQuota", "CpuShares", "CpusetCpus",
		"CpusetMems", "DeviceRequests", "Devices", "IpcMode", "Memory", "MemoryReservation", "MemorySwap", "MemorySwappiness", "NanoCpus",
		"NetworkMode", "OomKillDisable", "OomScoreAdj", "PidMode", "PidsLimit", "Privileged", "ReadonlyRootfs", "Runtime", "SecurityOpt",
		"ShmSize", "StorageOpt", "Tmpfs", "Ulimits", "UsernsMode",
	}
}

// container is a running container and the program to ask about it.
type container struct {
	tool string
	name string
}

// containerName accepts what docker and podman do, so that a name is never an option to them.
func containerName(s string) (string, error) {
	if !regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,255}$`).MatchString(s) {
		return "", fmt.Errorf("%q is no name or id of a container", s)
	}
	return s, nil
}

// findContainer asks docker, then podman.
func findContainer(ctx context.Context, name string) (container, containerFacts, error) {
	var errs []error
	for _, tool := range []string{"docker", "podman"} {
		if _, err := exec.LookPath(tool); err != nil {
			continue
		}
		c := container{tool, name}
		facts, err := c.inspect(ctx)
		if err == nil {
			return c, facts, nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return container{}, containerFacts{}, errors.New("neither docker nor podman is installed here")
	}
	return container{}, containerFacts{}, errors.Join(errs...)
}

func (c container) inspect(ctx context.Context) (containerFacts, error) {
	text, err := c.ask(ctx, "inspect", "--type", "container", c.name)
	if err != nil {
		return containerFacts{}, err
	}
	facts, err := parseInspected(text)
	if err != nil {
		return facts, fmt.Errorf("%s: container %s %w", c.tool, c.name, err)
	}
	facts.Name, facts.Tool = c.name, c.tool
	facts.Digests, err = c.digests(ctx, facts.ImageID)
	return facts, err
}

// parseInspected reads what `docker inspect` prints, an array such as
//
//	[{"Id":"4f1c","Image":"sha256:9d","State":{"Running":true,"StartedAt":"2026-11-20T10:00:00Z"},"Config":{"Image":"vllm:1"},"HostConfig":{"Memory":0}}]
func parseInspected(text []byte) (containerFacts, error) {
	var found []struct {
		ID    string `json:"Id"`
		Image string
		State struct {
			Running   bool
			StartedAt time.Time
		}
		Config     struct{ Image string }
		HostConfig map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &found); err != nil || len(found) != 1 {
		return containerFacts{}, errors.New("is not the description of one container")
	}
	one := found[0]
	if !one.State.Running {
		return containerFacts{}, errors.New("is not running")
	}
	facts := containerFacts{
		ID: one.ID, Image: one.Config.Image, ImageID: one.Image, StartedAt: one.State.StartedAt, HostConfig: map[string]json.RawMessage{},
	}
	for _, key := range hostConfigKeys() {
		if value, ok := one.HostConfig[key]; ok {
			facts.HostConfig[key] = value
		}
	}
	return facts, nil
}

// digests are the names of an image by content, such as vllm/vllm-openai@sha256:9d….
func (c container) digests(ctx context.Context, image string) ([]string, error) {
	if _, err := containerName(strings.TrimPrefix(image, "sha256:")); err != nil {
		return nil, fmt.Errorf("%s: %q is no id of an image", c.tool, image)
	}
	text, err := c.ask(ctx, "image", "inspect", image)
	if err != nil {
		return nil, err
	}
	var found []struct{ RepoDigests []string }
	if err := json.Unmarshal(text, &found); err != nil || len(found) != 1 {
		return nil, fmt.Errorf("%s image inspect: not the description of one image", c.tool)
	}
	return found[0].RepoDigests, nil
}

// ask runs the tool and returns what it printed.
func (c container) ask(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, c.tool, args...)
	printed, complained := bounded{most: mostInspected}, bounded{most: 512}
	command.Stdout, command.Stderr, command.WaitDelay = &printed, &complained, time.Second
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", c.tool, args[0], err, printable(strings.TrimSpace(complained.String())))
	}
	return printed.Bytes(), nil
}

// log writes what the container printed in a stretch of time to the folder. Output and errors are
// one stream, as the tool gives them; what is above the bound is cut off with a last line that says so.
func (c container) log(ctx context.Context, f folder, from, to time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	if err := os.MkdirAll(f.path(folderLogs), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(f.path(folderLogs+"/container-"+c.name+".log"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	out := &limited{to: file, left: mostLogged}
	command := exec.CommandContext(ctx, c.tool, "logs", "--timestamps", "--since", from.UTC().Format(time.RFC3339Nano), "--until", to.UTC().Format(time.RFC3339Nano), c.name)
	command.Stdout, command.Stderr, command.WaitDelay = out, out, time.Second
	err = command.Run()
	if err != nil {
		err = fmt.Errorf("%s logs: %w", c.tool, err)
	}
	if out.cut {
		_, cutErr := fmt.Fprintf(file, "\n[cut off after %d MiB]\n", mostLogged>>20)
		err = errors.Join(err, cutErr)
	}
	return errors.Join(err, file.Close())
}

// bounded keeps the first bytes of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(text []byte) (int, error) {
	b.Buffer.Write(text[:min(len(text), b.most-b.Len())])
	return len(text), nil
}

// limited passes on the first bytes of what is written to it, and takes the rest.
type limited struct {
	to   io.Writer
	left int
	cut  bool
}

func (l *limited) Write(text []byte) (int, error) {
	keep := text[:min(len(text), l.left)]
	l.cut = l.cut || len(keep) < len(text)
	l.left -= len(keep)
	if _, err := l.to.Write(keep); err != nil {
		return 0, err
	}
	return len(text), nil
}

// findContainer looks for the container that --container names; it must be there.
func (r *run) findContainer(ctx context.Context) error {
	if r.settings.container == "" {
		return nil
	}
	c, facts, err := findContainer(ctx, r.settings.container)
	if err != nil {
		return usage(fmt.Errorf("--container: %w", err))
	}
	r.container, r.manifest.Container = &c, &facts
	return nil
}

// keepLog keeps the log of the container from the run's start on. A container that is gone meanwhile
// is told, and makes no run fail that was measured.
func (r *run) keepLog(ctx context.Context) {
	if r.container == nil || r.manifest.StartedAt.IsZero() {
		return
	}
	if err := r.container.log(ctx, r.folder, r.manifest.StartedAt, time.Now()); err != nil {
		r.manifest.Container.LogError = printable(err.Error())
	}
}

func (r *run) containerWarnings() []string {
	if c := r.manifest.Container; c != nil && c.LogError != "" {
		return []string{"--container: its log is not complete: " + c.LogError}
	}
	return nil
}
