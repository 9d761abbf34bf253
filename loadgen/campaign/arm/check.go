package arm

import (
	"context"
	"fmt"
	"os/user"
	"regexp"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

func argvOf(p *plan.Probe) []string {
	if p == nil {
		return nil
	}
	return p.Argv
}

// runsNamed returns the name of the container that a command runs, if the command names it.
func runsNamed(argv []string) []string {
	at := runsContainer(argv)
	if at == 0 {
		return nil
	}
	for i, word := range argv[at:] {
		if name, ok := strings.CutPrefix(word, "--name="); ok {
			return []string{name}
		}
		if word == "--name" && at+i+1 < len(argv) {
			return []string{argv[at+i+1]}
		}
	}
	return nil
}

// detaches reports whether a command "run ..." of docker returns while its container runs.
func detaches(argv []string) bool {
	return slices.Contains(argv, "-d") || slices.Contains(argv, "--detach") || slices.Contains(argv, "-itd") || slices.Contains(argv, "-dit")
}

// Root checks whether the parts that need root can get it, and returns how. more are programs in addition to those of
// the arms, each with its arguments. The error contains the line for sudoers.
func Root(ctx context.Context, arms []plan.Arm, more ...string) (string, error) {
	return newKeeper("", nil).checkRoot(ctx, arms, more)
}

func (k *keeper) checkRoot(ctx context.Context, arms []plan.Arm, more []string) (string, error) {
	programs := slices.Clone(more)
	for _, one := range arms {
		if path, err := program(smi, "", nil); one.Clocks != nil && err == nil {
			programs = append(programs, path)
		}
		for _, p := range one.Processes {
			if p.Root && p.Host == "" {
				programs = append(programs, rootPrograms(p)...)
			}
		}
	}
	if len(programs) == 0 {
		return "not needed", nil
	}
	if k.root {
		return "uma-load runs as root", nil
	}
	_, err := ask(ctx, question{args: []string{"sudo", "-n", "true"}})
	if err == nil {
		return "sudo -n works", nil
	}
	for _, always := range []string{"kill", "true"} {
		if path, err := program(always, "", nil); err == nil {
			programs = append(programs, path)
		}
	}
	who := "USER"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	slices.Sort(programs)
	return "", fmt.Errorf("root is needed, and sudo -n does not give it (%v): add to sudoers: %s ALL=(root) NOPASSWD:SETENV: %s", err, who, strings.Join(slices.Compact(programs), ", "))
}

// rootPrograms returns the programs that sudo runs for a process, by path if they are installed here.
func rootPrograms(p plan.Process) []string {
	var paths []string
	names := []string{p.Argv[0]}
	if p.Container != "" {
		names = containerTools()
	}
	for _, argv := range [][]string{argvOf(p.Ready), argvOf(p.Alive), p.Stop.Argv} {
		if len(argv) > 0 && p.Container == "" {
			names = append(names, argv[0])
		}
	}
	for _, name := range names {
		if path, err := program(name, p.Cwd, p.Env); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// plainName reports whether a name may be a file name.
func plainName(s string) bool {
	return regexp.MustCompile(`^[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,127}$`).MatchString(s)
}
