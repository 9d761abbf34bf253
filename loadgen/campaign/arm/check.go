package arm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Problem is something that would keep an arm from coming up.
type Problem struct {
	Process string // empty if it is the arm's
	Text    string
}

func (p Problem) String() string {
	if p.Process == "" {
		return p.Text
	}
	return p.Process + ": " + p.Text
}

// Check looks for what would keep an arm from coming up here and now, without starting anything of it:
// programs, folders and containers that are missing, machines that cannot be reached, files of others,
// servers that answer already, and more memory expected than there is. Expected may be 0.
func Check(ctx context.Context, spec plan.Arm, expected plan.Bytes) []Problem {
	return newKeeper("", nil).check(ctx, spec, expected)
}

func (k *keeper) check(ctx context.Context, spec plan.Arm, expected plan.Bytes) []Problem {
	if err := validate(spec); err != nil {
		return []Problem{{"", err.Error()}}
	}
	var problems []Problem
	say := func(process string, err error) {
		if err != nil {
			problems = append(problems, Problem{process, err.Error()})
		}
	}
	say("", checkMemory(expected))
	for _, file := range spec.Files {
		say("", checkFile(file))
	}
	say("", silent(ctx, spec))
	var made []string
	for _, p := range spec.Processes {
		if !slices.Contains(made, p.Container) { // else there is nothing in it to look for yet
			say(p.Name, k.checkProcess(ctx, p))
		}
		made = append(made, runsNamed(p.Argv)...)
	}
	return problems
}

func checkMemory(expected plan.Bytes) error {
	if expected == 0 {
		return nil
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return err
	}
	info, err := fs.Meminfo()
	if err == nil && info.MemTotalBytes != nil && uint64(expected) > *info.MemTotalBytes {
		const gib = 1 << 30
		return fmt.Errorf("expected_memory is %.1f GiB and the machine has %.1f GiB", float64(expected)/gib, float64(*info.MemTotalBytes)/gib)
	}
	return err
}

// checkFile looks at files outside of the folder of the arm, which Up would not replace.
func checkFile(file plan.File) error {
	if file.Optional || !filepath.IsAbs(file.Path) {
		return nil
	}
	found, err := hashOf(file.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err == nil && found != hash([]byte(file.Text)):
		return fmt.Errorf("%s: is there already with other content: move it away", file.Path)
	}
	return err
}

func (k *keeper) checkProcess(ctx context.Context, p plan.Process) error {
	where, err := k.placeOf(p).find(ctx)
	if err != nil {
		return err
	}
	if at := runsContainer(p.Argv); at > 0 && detaches(p.Argv[at:]) {
		return errors.New("a container that runs in the background (-d) is not a process of the arm: let it run in the foreground")
	}
	programs := []string{p.Argv[0]}
	for _, argv := range [][]string{argvOf(p.Ready), argvOf(p.Alive), p.Stop.Argv} {
		if len(argv) > 0 {
			programs = append(programs, argv[0])
		}
	}
	for _, name := range programs {
		if err := findIn(ctx, p, where, name); err != nil {
			return err
		}
	}
	return nil
}

func argvOf(p *plan.Probe) []string {
	if p == nil {
		return nil
	}
	return p.Argv
}

// runsNamed is the name of the container that a command runs, if it gives it one.
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

// detaches says whether a command "run ..." of docker returns while its container runs.
func detaches(argv []string) bool {
	return slices.Contains(argv, "-d") || slices.Contains(argv, "--detach") || slices.Contains(argv, "-itd") || slices.Contains(argv, "-dit")
}

// findIn finds a program where the process runs.
func findIn(ctx context.Context, p plan.Process, where place, name string) error {
	if where.away() {
		_, err := ask(ctx, question{args: where.shell(), input: inPlace(p.Env, p.Cwd) + "command -v " + quote(name) + " >/dev/null || exit 127\n"})
		if err != nil {
			err = fmt.Errorf("%s: %q: %w", where, name, err)
		}
		return err
	}
	if info, err := os.Stat(cmp.Or(p.Cwd, ".")); err != nil || !info.IsDir() {
		return fmt.Errorf("cwd %s: is no folder", p.Cwd)
	}
	_, err := program(name, p.Cwd, p.Env)
	return err
}

// Root says whether what needs root can have it: nil for us being root, and if nothing needs it. More
// are programs beside those of the arms, each with its arguments. The error has the line for sudoers.
func Root(ctx context.Context, arms []plan.Arm, more ...string) error {
	return newKeeper("", nil).checkRoot(ctx, arms, more)
}

func (k *keeper) checkRoot(ctx context.Context, arms []plan.Arm, more []string) error {
	programs := slices.Clone(more)
	for _, one := range arms {
		for _, p := range one.Processes {
			if p.Root && p.Host == "" {
				programs = append(programs, rootPrograms(p)...)
			}
		}
	}
	if k.root || len(programs) == 0 {
		return nil
	}
	_, err := ask(ctx, question{args: []string{"sudo", "-n", "true"}})
	if err == nil {
		return nil
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
	return fmt.Errorf("root is needed, and sudo -n does not give it (%v): add to sudoers: %s ALL=(root) NOPASSWD:SETENV: %s", err, who, strings.Join(slices.Compact(programs), ", "))
}

// rootPrograms are the programs that sudo has to run for a process, by their paths if they have one here.
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

// validate refuses what cannot be started, or could not be found again.
func validate(spec plan.Arm) error {
	for _, file := range spec.Files {
		if _, err := modeOf(file.Mode); err != nil || file.Path == "" {
			return fmt.Errorf("arm %s: file %q: %w", spec.Name, file.Path, cmp.Or(err, errors.New("has no path")))
		}
	}
	names := map[string]bool{}
	for _, p := range spec.Processes {
		err := validateProcess(p)
		if err == nil && names[p.Name] {
			err = errors.New("there are two of that name")
		}
		if err != nil {
			return fmt.Errorf("arm %s: process %q: %w", spec.Name, p.Name, err)
		}
		names[p.Name] = true
	}
	return nil
}

func validateProcess(p plan.Process) error {
	if !plainName(p.Name) {
		return errors.New("the name wants letters, digits, . _ and -, not beginning with a dot, at most 128")
	}
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return errors.New("argv is empty")
	}
	for key, value := range p.Env {
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(key) || strings.ContainsRune(value, 0) {
			return fmt.Errorf("env %q is no variable", key)
		}
	}
	if unix.SignalNum(signalOf(p.Stop)) == 0 {
		return fmt.Errorf("stop.signal %q is no signal, such as SIGTERM", p.Stop.Signal)
	}
	if err := (place{host: p.Host, container: p.Container}).check(); err != nil {
		return err
	}
	if err := validateProbe(p.Ready); err != nil {
		return fmt.Errorf("ready: %w", err)
	}
	if p.Alive != nil && p.Alive.Log != "" {
		return errors.New("alive: a line in a log does not say that a process is alive")
	}
	if err := validateProbe(p.Alive); err != nil {
		return fmt.Errorf("alive: %w", err)
	}
	return nil
}

func validateProbe(p *plan.Probe) error {
	if p == nil {
		return nil
	}
	ways := 0
	for _, given := range []bool{p.URL != "", p.Log != "", p.Port != 0, len(p.Argv) > 0} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return errors.New("want one of url, log, port and argv")
	}
	if u, err := url.Parse(p.URL); p.URL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return errors.New("url: want http:// or https:// and a host")
	}
	if _, err := regexp.Compile(p.Log); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if p.Port < 0 || p.Port > 65535 {
		return fmt.Errorf("port %d: want 1 to 65535", p.Port)
	}
	return nil
}

// plainName is a name that may be that of a file.
func plainName(s string) bool {
	return regexp.MustCompile(`^[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,127}$`).MatchString(s)
}
