package arm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/subprocess"
)

// place is where a process runs: here, or in a container, on another machine, or in a container there.
type place struct {
	host, container string
	tool            string // docker or podman, of a container
	root            bool   // by sudo
}

// containerTools are the programs that may have the container, the first that knows it.
func containerTools() []string { return []string{"docker", "podman"} }

// check keeps names from being options to ssh and docker.
func (p place) check() error {
	name := regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,255}$`)
	host := regexp.MustCompile(`^([a-zA-Z0-9_][a-zA-Z0-9_.-]*@)?[a-zA-Z0-9:\[][a-zA-Z0-9_.:%\]-]{0,255}$`)
	if p.container != "" && !name.MatchString(p.container) {
		return fmt.Errorf("container %q is no name or id", p.container)
	}
	if p.host != "" && !host.MatchString(p.host) {
		return fmt.Errorf("host %q is no name or user@name", p.host)
	}
	if p.tool != "" && !slices.Contains(containerTools(), p.tool) {
		return fmt.Errorf("%q runs no containers", p.tool)
	}
	return nil
}

// away says whether a shell has to be asked for everything.
func (p place) away() bool { return p.host != "" || p.container != "" }

func (p place) String() string {
	switch {
	case p.host != "" && p.container != "":
		return "container " + p.container + " on " + p.host
	case p.host != "":
		return p.host
	case p.container != "":
		return "container " + p.container
	}
	return "here"
}

// outer are the words before a command of the machine that the place is on. ssh asks for nothing, and
// notices when the other side has gone.
func (p place) outer() []string {
	var words []string
	if p.host != "" {
		words = append(words, "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15", p.host)
	}
	if p.root {
		words = append(words, "sudo", "-n")
	}
	return words
}

// command is one on the machine that the place is on. What ssh is given a shell reads there.
func (p place) command(args ...string) []string {
	if p.host != "" {
		for i := range args {
			args[i] = quote(args[i])
		}
	}
	return append(p.outer(), args...)
}

// shell is the client of a shell there, which reads its script from its input: so neither argument nor
// environment stands in the command lines of this machine, and nothing is quoted twice.
func (p place) shell() []string {
	words := p.outer()
	if p.container != "" {
		words = append(words, p.tool, "exec", "-i", p.container)
	}
	return append(words, "sh")
}

const (
	// placeTimeout bounds a short question to a place.
	placeTimeout = 30 * time.Second
	// mostAnswer bounds what is kept of an answer.
	mostAnswer = 64 << 10
)

// find says which tool has the container; it must run.
func (p place) find(ctx context.Context) (place, error) {
	if p.container == "" {
		return p, nil
	}
	var errs []error
	for _, tool := range containerTools() {
		p.tool = tool
		running, err := p.running(ctx)
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		if running {
			return p, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", tool, cmp.Or(err, errors.New("it is not running"))))
	}
	if len(errs) == 0 {
		return p, fmt.Errorf("container %s: neither docker nor podman is installed", p.container)
	}
	return p, fmt.Errorf("container %s: %w", p.container, errors.Join(errs...))
}

// running says whether the container runs. One that is not there does not.
func (p place) running(ctx context.Context) (bool, error) {
	out, err := ask(ctx, question{args: p.command(p.tool, "inspect", "--type", "container", "--format", "{{.State.Running}}", p.container)})
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such") && !errors.Is(err, exec.ErrNotFound) {
		return false, nil
	}
	return strings.TrimSpace(out) == "true", err
}

// question is a command that is over soon.
type question struct {
	args  []string
	input string
	env   []string // ours if nil
	dir   string
}

// ask runs a command and returns what it printed. An error has the end of its complaint. It leaves
// nothing running when the context ends.
func ask(ctx context.Context, q question) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, placeTimeout)
	defer cancel()
	return askAsLongAs(ctx, q)
}

// askAsLongAs has no bound but that of the context.
func askAsLongAs(ctx context.Context, q question) (string, error) {
	c := exec.CommandContext(ctx, q.args[0], q.args[1:]...)
	out, complaint := &bounded{most: mostAnswer}, &bounded{most: mostAnswer}
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(q.input), out, complaint
	c.Env, c.Dir, c.WaitDelay = q.env, q.dir, time.Second
	inOwnGroup(c)
	err := c.Run()
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if last := lastLine(complaint.kept.String()); last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
	}
	return out.kept.String(), err
}

// bounded keeps the beginning of what is written. It is no buffer itself: one would read from a pipe
// without a bound.
type bounded struct {
	kept bytes.Buffer
	most int
}

func (b *bounded) Write(text []byte) (int, error) {
	b.kept.Write(text[:min(len(text), b.most-b.kept.Len())])
	return len(text), nil
}

// lastLine is the last that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return clean(lines[len(lines)-1])
}

// environment is ours, less what is for us alone, and what the plan adds, for commands here.
func environment(plan map[string]string, more ...string) []string {
	env := subprocess.Inherited()
	for _, key := range slices.Sorted(maps.Keys(plan)) {
		env = append(env, key+"="+plan[key])
	}
	return append(env, more...)
}

// program finds a program as the process would, in the PATH that the plan gives it, if it does: its path.
func program(name, dir string, env map[string]string) (string, error) {
	path, own := env["PATH"]
	switch {
	case strings.Contains(name, "/"):
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		found, err := exec.LookPath(name)
		if err != nil {
			return "", err
		}
		return filepath.Abs(found)
	case !own:
		if err := subprocess.Find(name); err != nil {
			return "", err
		}
		return exec.LookPath(name)
	}
	for _, folder := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil && filepath.IsAbs(folder) {
			return found, nil
		}
	}
	return "", fmt.Errorf("%q: not found in the PATH of the plan", name)
}
