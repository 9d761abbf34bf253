package arm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// process is a process that this program started.
type process struct {
	spec    plan.Process
	index   int     // in the state
	started Started // at its start
	place   place
	client  *subprocess.Command
	log     *lineSearch // nil if no probe reads it
}

// start starts a process. The state records it before it runs, and its ID immediately afterwards.
func (k *keeper) start(ctx context.Context, spec plan.Process) (*process, error) {
	where, err := k.placeOf(spec).find(ctx)
	if err != nil {
		return nil, err
	}
	p := &process{spec: spec, place: where, index: len(k.seen().Processes)}
	out, err := k.openLog(p)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the process has its own descriptor
	o := subprocess.Options{Stdout: out, Stderr: out, Session: true}
	if err := k.dress(p, &o); err != nil {
		return nil, err
	}
	if o.Stdin != nil {
		defer o.Stdin.Close()
	}
	if err := k.note(func(s *State) { s.Processes = append(s.Processes, p.started) }); err != nil {
		return nil, err
	}
	if o.Cgroup, err = k.openCgroup(spec.Name); err != nil {
		return nil, err
	}
	if o.Cgroup != nil {
		defer o.Cgroup.Close()
	}
	if p.client, err = subprocess.Start(o); err != nil {
		return nil, err
	}
	leader, err := identify(p.client.PID())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		<-p.client.Ended() // it has ended already; the wait for its readiness reports how
		return p, nil
	}
	if err != nil { // its /proc entry is not readable
		p.client.Kill()
		return nil, err
	}
	p.started.Leader = leader
	return p, k.note(func(s *State) { s.Processes[p.index].Leader = leader })
}

// placeOf returns where the process runs. If this process is root, it uses no sudo.
func (k *keeper) placeOf(p plan.Process) place {
	return place{host: p.Host, container: p.Container, root: p.Root && (!k.root || p.Host != "")}
}

// dress fills in the command of a process.
func (k *keeper) dress(p *process, o *subprocess.Options) error {
	spec, token := p.spec, k.state.Token
	marked := markVariable + "=" + mark(token, spec.Name)
	if at := runsContainer(spec.Argv); at > 0 && spec.Container == "" {
		p.started.Runs = filepath.Base(spec.Argv[0])
		spec.Argv = slices.Insert(slices.Clone(spec.Argv), at+1, "--label", label(token))
	}
	o.Env = environment(nil, marked)
	if p.place.away() {
		var err error
		o.Args = p.place.shell()
		o.Stdin, err = input(scriptOf(spec, token))
		return err
	}
	path, err := program(spec.Argv[0], spec.Cwd, spec.Env)
	if err != nil {
		return err
	}
	o.Args = append([]string{path}, spec.Argv[1:]...)
	o.Env, o.Dir = environment(spec.Env, marked), spec.Cwd
	if p.place.root {
		keep := append(p.started.Env, markVariable)
		o.Args = append([]string{"sudo", "-n", "--preserve-env=" + strings.Join(keep, ","), "--"}, o.Args...)
	}
	return nil
}

// openLog opens the log of a process for appending. The state records the length at which this start begins.
func (k *keeper) openLog(p *process) (*os.File, error) {
	path := p.spec.Log
	if path == "" {
		path = filepath.Join(LogsFolder, p.spec.Name+".log")
	}
	path = k.path(path)
	p.started = newStarted(p.spec, p.place, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	// Opening a pipe without a reader would block for ever.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NONBLOCK, 0o640)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if !info.Mode().IsRegular() && p.spec.Ready != nil && p.spec.Ready.Log != "" {
		return nil, errors.Join(fmt.Errorf("log: %s is no file that can be read for a line", path), file.Close())
	}
	if info.Mode().IsRegular() {
		p.started.LogFrom = info.Size()
	}
	return file, nil
}

// runsContainer returns the position of the word "run" in a docker or podman command that runs a container, or 0.
// Ending such a command does not end its container.
func runsContainer(argv []string) int {
	if !slices.Contains(containerTools(), filepath.Base(argv[0])) {
		return 0
	}
	withValue := []string{"-c", "-H", "--context", "--config", "--host", "--connection", "--url", "--log-level"}
	for i := 1; i < len(argv); i++ {
		switch word := argv[i]; {
		case slices.Contains(withValue, word):
			i++
		case strings.HasPrefix(word, "-") || word == "container":
		case word == "run":
			return i
		default:
			return 0
		}
	}
	return 0
}

// label is the label by which containers of a start are found.
func label(token string) string { return "umascope.arm=" + token }
