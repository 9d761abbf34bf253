package arm

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// Files and folders in the folder of an arm.
const (
	StateFile  = "arm.json"
	LogsFolder = "logs"
	lockFile   = "arm.lock"
)

// StateSchema is the schema name of arm.json.
const StateSchema = "umascope.arm/1"

// mostState is the most of a state that is read, in bytes.
const mostState = 1 << 20

// State is the content of arm.json: what was started, and how to find it again. It has no values of options or
// environment variables, since these may be keys.
type State struct {
	Schema string `json:"schema"`
	Arm    string `json:"arm"`
	// Token is in the mark of every process that this start of the arm has started.
	Token string `json:"token"`
	// BootID is the boot ID of the machine. After a reboot, no process is left here.
	BootID    string    `json:"boot_id"`
	StartedAt time.Time `json:"started_at"`
	// DownAt is when the arm was ended completely.
	DownAt    *time.Time `json:"down_at,omitempty"`
	Processes []Started  `json:"processes"`
	Files     []Written  `json:"files,omitempty"`
	// Mounts are the mount points before the start. Mount points that are new since then belong to the arm.
	Mounts []string `json:"mounts,omitempty"`
	// LockedClock is the clock that the GPUs are locked to, or were about to be; 0 if they are not.
	LockedClock plan.Hertz `json:"locked_clock_hertz,omitempty"`
	// Cgroup is the folder of the cgroup of the arm; empty if its processes are process groups only.
	Cgroup string `json:"cgroup,omitempty"`
}

// Started is a process of the arm that was started, or was about to be.
type Started struct {
	Name    string `json:"name"`
	Program string `json:"program"` // without its folder
	// Options are the names of options in order. Arguments is the number of all arguments.
	Options   []string `json:"options,omitempty"`
	Arguments int      `json:"arguments"`
	// Env are the names of the variables that the plan sets.
	Env       []string `json:"env,omitempty"`
	Container string   `json:"container,omitempty"`
	Tool      string   `json:"tool,omitempty"` // docker or podman
	Host      string   `json:"host,omitempty"`
	Root      bool     `json:"root,omitempty"`
	// Runs is docker or podman if the process runs a container of its own, which has the token as a label.
	Runs string `json:"runs,omitempty"`

	// Leader is the process here: the program itself, or the client that runs it elsewhere. It is 0 until its ID is
	// recorded; until then its processes are found by their mark.
	Leader Identity `json:"leader"`
	Log    string   `json:"log"`
	// LogFrom is the length of the log before the start, in bytes.
	LogFrom     int64      `json:"log_from"`
	StartedAt   time.Time  `json:"started_at"`
	ReadyAt     *time.Time `json:"ready_at,omitempty"`
	StoppedAt   *time.Time `json:"stopped_at,omitempty"`
	Signal      string     `json:"stop_signal"`
	StopSeconds float64    `json:"stop_seconds"`
	// StopCommand is true if the plan has a command that stops the process.
	StopCommand bool `json:"stop_command,omitempty"`
}

// Written is a file that was rendered.
type Written struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
	// Found is true if the file existed before, with this content. It stays when the arm goes down.
	Found bool `json:"found,omitempty"`
}

func newState(spec plan.Arm) (*State, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	mounts, err := mountPoints()
	return &State{
		Schema: StateSchema, Arm: spec.Name, Token: strings.ToLower(rand.Text()[:16]), BootID: boot, StartedAt: time.Now(), Mounts: mounts,
	}, err
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

func mountPoints() ([]string, error) {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return nil, err
	}
	points := make([]string, len(mounts))
	for i, one := range mounts {
		points[i] = one.MountPoint
	}
	slices.Sort(points)
	return slices.Compact(points), nil
}

// newStarted returns the entry of a process before it is started.
func newStarted(p plan.Process, where place, log string) Started {
	return Started{
		Name: p.Name, Program: filepath.Base(p.Argv[0]), Options: subprocess.OptionNames(p.Argv[1:]), Arguments: len(p.Argv) - 1,
		Env: slices.Sorted(maps.Keys(p.Env)), Container: where.container, Tool: where.tool, Host: where.host, Root: p.Root,
		Log: log, StartedAt: time.Now(), Signal: p.Stop.Signal, StopSeconds: p.Stop.Timeout.Seconds(), StopCommand: len(p.Stop.Argv) > 0,
	}
}

// spec returns the part of the process's plan that the state has.
func (s *Started) spec() plan.Process {
	return plan.Process{
		Name: s.Name, Container: s.Container, Host: s.Host, Root: s.Root,
		Stop: plan.Stop{Signal: s.Signal, Timeout: time.Duration(s.StopSeconds * float64(time.Second))},
	}
}

// placeOfStarted returns where a started process runs. If this process is root, it uses no sudo here.
func (k *keeper) placeOfStarted(s Started) place {
	return place{container: s.Container, tool: s.Tool, host: s.Host, root: s.Root && (!k.root || s.Host != "")}
}

func (s State) clone() State {
	s.Processes, s.Files, s.Mounts = slices.Clone(s.Processes), slices.Clone(s.Files), slices.Clone(s.Mounts)
	return s
}

// lockTimeout is how long to wait for a lock. The lock of a killed holder is free once the kernel has closed its
// files.
const lockTimeout = time.Second

// open makes the folder, locks it and reads the state that an earlier start left. While a guardian stops the arm, it
// waits for that, or until the context is done.
func (k *keeper) open(ctx context.Context) error {
	var err error
	if k.dir, err = filepath.Abs(k.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(k.dir, LogsFolder), 0o750); err != nil {
		return err
	}
	if k.lock, err = k.take(ctx); err != nil {
		return fmt.Errorf("%s: %w", k.dir, err)
	}
	if err := k.read(); err != nil {
		k.close()
		return err
	}
	return nil
}

// take waits for the lock: lockTimeout for any process, and as long as needed for a guardian.
func (k *keeper) take(ctx context.Context) (*os.File, error) {
	for waiting := false; ; waiting = true {
		file, err := TakeLock(filepath.Join(k.dir, lockFile), k.role, lockTimeout)
		held, isHeld := errors.AsType[*LockedError](err)
		if !isHeld || held.Holder.Role != guardianRole || ctx.Err() != nil {
			return file, err
		}
		if !waiting {
			k.log.Warn("uma-load was killed, and its guardian stops the arm: waiting until it is down", "folder", k.dir, "guardian", held.Holder.PID)
		}
	}
}

// read reads the state of the folder. Other goroutines may still use the previous one.
func (k *keeper) read() error {
	state, err := readState(k.dir)
	if err != nil {
		return err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.state = state
	return nil
}

// close releases the lock on the folder.
func (k *keeper) close() {
	if k.lock != nil {
		_ = k.lock.Close()
		k.lock = nil
	}
}

// readState returns nil if no arm was ever started in the folder.
func readState(dir string) (*State, error) {
	path := filepath.Join(dir, StateFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostState))
	if err != nil {
		return nil, err
	}
	state, err := parseState(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return state, nil
}

// parseState refuses states that could make this program signal processes that do not belong to the arm.
func parseState(text []byte) (*State, error) {
	state := &State{}
	if err := json.Unmarshal(text, state); err != nil {
		return nil, err
	}
	if state.Schema != StateSchema {
		return nil, fmt.Errorf("schema %q, want %s", state.Schema, StateSchema)
	}
	if !plainName(state.Token) || state.BootID == "" {
		return nil, errors.New("has no token or no boot_id")
	}
	if g := state.Cgroup; g != "" && (!filepath.IsAbs(g) || filepath.Clean(g) != g || !strings.HasPrefix(filepath.Base(g), armPrefix)) {
		return nil, fmt.Errorf("%q is no cgroup of an arm", g)
	}
	for _, one := range state.Processes {
		if !plainName(one.Name) || one.Leader.PID < 0 || one.Leader.PID == 1 || one.Leader.PID > 0 && one.Leader.Start == 0 {
			return nil, fmt.Errorf("process %q is none that was started", one.Name)
		}
		if err := (place{container: one.Container, tool: one.Tool, host: one.Host}).check(); err != nil {
			return nil, err
		}
		if one.Runs != "" && !slices.Contains(containerTools(), one.Runs) {
			return nil, fmt.Errorf("%q runs no containers", one.Runs)
		}
	}
	return state, nil
}

// note changes the state and writes it.
func (k *keeper) note(change func(*State)) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	change(k.state)
	text, err := json.MarshalIndent(k.state, "", "  ")
	if err != nil {
		return err
	}
	return put(filepath.Join(k.dir, StateFile), append(text, '\n'), 0o640, os.Rename)
}

// seen returns the current state.
func (k *keeper) seen() State {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.state.clone()
}
