package arm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Kinds of leftovers of an arm.
const (
	KindProcess   = "process"
	KindContainer = "container"
	KindMount     = "mount"
	KindFile      = "file"
	KindUnknown   = "unknown" // its machine or container could not be asked
)

// Leftover is something that an arm has left behind.
type Leftover struct {
	Kind string
	// Process is the process of the plan that it belongs to; empty for files and mounts.
	Process string
	// What identifies it: process IDs with their place, a container, or a path.
	What string
}

// runs reports whether it is running, or may be. Files and mounts do not prevent a new start.
func (l Leftover) runs() bool { return l.Kind != KindFile && l.Kind != KindMount }

func (l Leftover) String() string {
	if l.Process == "" {
		return l.Kind + " " + l.What
	}
	return fmt.Sprintf("%s (%s %s)", l.Process, l.Kind, l.What)
}

// Leftovers returns what is left of the last start of an arm that was not stopped, such as one of an invocation that
// was killed. It is empty if the arm was stopped. Mounts are those that are new since the start and named in spec;
// Down does not unmount them.
func Leftovers(ctx context.Context, spec plan.Arm, dir string) ([]Leftover, error) {
	state, err := readState(dir)
	if err != nil || state == nil {
		return nil, err
	}
	k := newKeeper(dir, nil)
	k.state = state
	return k.leftovers(ctx, spec)
}

func (k *keeper) leftovers(ctx context.Context, spec plan.Arm) ([]Leftover, error) {
	if k.state == nil || k.state.DownAt != nil {
		return nil, nil
	}
	var left []Leftover
	for _, one := range k.state.Processes {
		if one.StoppedAt == nil {
			left = append(left, k.leftOf(ctx, one)...)
		}
	}
	for _, file := range k.state.Files {
		if sum, err := hashOf(file.Path); err == nil && sum == file.SHA256 && !file.Found {
			left = append(left, Leftover{KindFile, "", file.Path})
		}
	}
	mounts, err := k.mounts(spec)
	return append(left, mounts...), err
}

// leftOf returns what is left of a process. A place that cannot be asked counts as a possible leftover.
func (k *keeper) leftOf(ctx context.Context, one Started) []Leftover {
	var left []Leftover
	unknown := func(err error) {
		if err != nil {
			left = append(left, Leftover{KindUnknown, one.Name, fmt.Sprintf("%s: %v", k.placeOfStarted(one), err)})
		}
	}
	here := k.state.BootID == k.boot()
	if here {
		members, err := k.state.family(one).members()
		unknown(err)
		if len(members) > 0 {
			left = append(left, Leftover{KindProcess, one.Name, join(pids(members))})
		}
	}
	p := k.placeOfStarted(one)
	if here || p.host != "" {
		names, err := p.ran(ctx, one, k.state.Token)
		unknown(err)
		for _, name := range names {
			left = append(left, Leftover{KindContainer, one.Name, name})
		}
	}
	if p.away() && (here || p.host != "") {
		pids, err := k.leftThere(ctx, one)
		unknown(err)
		if len(pids) > 0 {
			left = append(left, Leftover{KindProcess, one.Name, join(pids) + " in " + p.String()})
		}
	}
	return left
}

// leftThere asks the place of a process. A container that is not running has no leftovers.
func (k *keeper) leftThere(ctx context.Context, one Started) ([]int, error) {
	p := k.placeOfStarted(one)
	pids, err := p.leftThere(ctx, k.state.Token, one.Name)
	if err != nil && p.container != "" {
		if running, runErr := p.running(ctx); runErr == nil && !running {
			return nil, nil
		}
	}
	return pids, err
}

// mounts returns the mount points that did not exist before the arm's start and that spec names or that are in the
// arm's folder.
func (k *keeper) mounts(spec plan.Arm) ([]Leftover, error) {
	if k.state.BootID != k.boot() {
		return nil, nil
	}
	now, err := mountPoints()
	if err != nil {
		return nil, err
	}
	named := append(pathsOf(spec), k.dir)
	var left []Leftover
	for _, point := range now {
		below := func(path string) bool { return point == path || strings.HasPrefix(point, path+"/") }
		if !slices.Contains(k.state.Mounts, point) && slices.ContainsFunc(named, below) {
			left = append(left, Leftover{KindMount, "", clean(point)})
		}
	}
	return left, nil
}

// pathsOf returns all paths in the command lines of an arm's processes.
func pathsOf(spec plan.Arm) []string {
	var texts []string
	for _, p := range spec.Processes {
		texts = append(texts, p.Cwd)
		texts = append(texts, p.Argv...)
		texts = append(texts, p.Stop.Argv...)
		for _, value := range p.Env {
			texts = append(texts, value)
		}
	}
	var paths []string
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n=,:;'\"", r) }) {
			if path := strings.TrimRight(word, "/"); strings.HasPrefix(path, "/") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
