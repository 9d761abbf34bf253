package arm

import (
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

// place is where a process runs: here, in a container, on another machine, or in a container there.
type place struct {
	host, container string
	tool            string // docker or podman, for a container
	root            bool   // with sudo
}

// containerTools are the container engines. The first one that has the container is used.
func containerTools() []string { return []string{"docker", "podman"} }

// check refuses names that ssh or docker would read as options.
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

// away reports whether commands have to go through a shell in another place.
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

// outer returns the words before a command on the place's machine. ssh asks for no input, and notices when the other
// side has gone.
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

// command returns a command on the place's machine. ssh passes it to a shell there.
func (p place) command(args ...string) []string {
	if p.host != "" {
		for i := range args {
			args[i] = quote(args[i])
		}
	}
	return append(p.outer(), args...)
}

// shell returns the command that runs a shell in the place. The shell reads its script from stdin, so arguments and
// environment do not appear in this machine's command lines, and need quoting only once.
func (p place) shell() []string {
	words := p.outer()
	if p.container != "" {
		words = append(words, p.tool, "exec", "-i", p.container)
	}
	return append(words, "sh")
}

const (
	// placeTimeout is the longest that a short command in a place may take.
	placeTimeout = 30 * time.Second
	// mostAnswer is the most output of such a command that is kept, in bytes.
	mostAnswer = 64 << 10
)

// find finds the tool that has the container, which must be running.
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

// running reports whether the container is running. A container that does not exist is not running.
func (p place) running(ctx context.Context) (bool, error) {
	out, err := ask(ctx, question{args: p.command(p.tool, "inspect", "--type", "container", "--format", "{{.State.Running}}", p.container)})
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such") && !errors.Is(err, exec.ErrNotFound) {
		return false, nil
	}
	return strings.TrimSpace(out) == "true", err
}

// question is a short command.
type question struct {
	args  []string
	input string
	env   []string // nil: the environment of this process
	dir   string
}

// ask runs a command and returns its output. Its error contains the end of stderr. It leaves no process running when
// the context ends.
func ask(ctx context.Context, q question) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, placeTimeout)
	defer cancel()
	return askAsLongAs(ctx, q)
}

// askAsLongAs is ask without placeTimeout; only the context limits it.
func askAsLongAs(ctx context.Context, q question) (string, error) {
	c := exec.CommandContext(ctx, q.args[0], q.args[1:]...)
	out, complaint := &subprocess.Bounded{MostBytes: mostAnswer}, &subprocess.Bounded{MostBytes: mostAnswer}
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(q.input), out, complaint
	c.Env, c.Dir, c.WaitDelay = q.env, q.dir, time.Second
	inOwnGroup(c)
	err := c.Run()
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if last := lastLine(complaint.Kept.String()); last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
	}
	return out.Kept.String(), err
}

// lastLine returns the last line that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return clean(lines[len(lines)-1])
}

// environment returns this process's environment without the variables that are only for this process, plus the
// variables of the plan, for commands here.
func environment(plan map[string]string, more ...string) []string {
	env := subprocess.Inherited()
	for _, key := range slices.Sorted(maps.Keys(plan)) {
		env = append(env, key+"="+plan[key])
	}
	return append(env, more...)
}

// program returns the path of a program as the process would find it, in the PATH that the plan sets, if it sets one.
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
