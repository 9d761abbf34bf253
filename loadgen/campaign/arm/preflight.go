package arm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Result is the result of a preflight check.
type Result string

// Results of a check.
const (
	Passes    Result = "ok"
	Fails     Result = "fails"
	Unchecked Result = "not checked" // the machine does not show it, or not now
)

// Finding is the finding of one preflight check.
type Finding struct {
	Process string // empty if it is about the whole arm
	Check   string // what was checked, such as "program docker"
	Result  Result
	Detail  string // what was found, or the reason
}

func (f Finding) String() string {
	text := f.Check + ": " + f.Detail
	if f.Process != "" {
		text = f.Process + ": " + text
	}
	return text
}

// Needs is what an arm needs in addition to its processes.
type Needs struct {
	// Dir is the folder of the arm, which a start creates.
	Dir string
	// ExpectedBytes is the memory that the model needs; 0 if it is unknown.
	ExpectedBytes plan.Bytes
	// URLs are the addresses that the load is sent to; empty where the plan does not set one.
	URLs []string
	// LeftOver is true if an earlier invocation left processes running. They are ended before the first start.
	LeftOver bool
}

// Check checks what an arm needs, without starting any of it: programs, containers, images, model paths, ports, files,
// memory; on other machines over ssh.
func Check(ctx context.Context, spec plan.Arm, needs Needs) []Finding {
	c := &checker{keeper: newKeeper(needs.Dir, nil), needs: needs, hosts: map[string]error{}, addresses: map[string]bool{}}
	c.check(ctx, spec)
	return c.findings
}

// checker collects findings.
type checker struct {
	keeper    *keeper
	needs     Needs
	hosts     map[string]error // by the words of the command that reaches them
	addresses map[string]bool  // of the ports that were checked
	findings  []Finding
}

func (c *checker) add(process, check string, result Result, detail string) {
	c.findings = append(c.findings, Finding{process, check, result, detail})
}

// addErr adds a check that passes with a detail, or fails with an error.
func (c *checker) addErr(process, check, detail string, err error) {
	if err != nil {
		c.add(process, check, Fails, err.Error())
		return
	}
	c.add(process, check, Passes, detail)
}

const whyLeftOver = "what is left of the last invocation is ended first"

func (c *checker) check(ctx context.Context, spec plan.Arm) {
	c.memory()
	for _, file := range spec.Files {
		c.file(file)
	}
	if spec.Clocks != nil {
		c.addErr("", "clocks.lock", spec.Clocks.Lock.String()+" by "+smi, c.keeper.checkClocks(ctx))
	}
	runBy := map[string]string{} // process names, by the container that they run
	for _, p := range spec.Processes {
		if by := runBy[p.Container]; by != "" {
			c.add(p.Name, "container "+p.Container, Unchecked, by+" of this arm runs it")
		} else {
			c.process(ctx, p)
		}
		for _, name := range runsNamed(p.Argv) {
			runBy[name] = p.Name
		}
		if p.Ready != nil {
			c.port(ctx, p.Name, p.Host, *p.Ready)
		}
	}
	for _, url := range c.needs.URLs {
		c.server(ctx, url, len(spec.Processes) > 0)
	}
}

func (c *checker) memory() {
	expected := c.needs.ExpectedBytes
	if expected == 0 {
		return
	}
	kernel, err := procfs.NewDefaultFS()
	if err != nil {
		c.add("", "memory", Unchecked, err.Error())
		return
	}
	info, err := kernel.Meminfo()
	if err != nil || info.MemTotalBytes == nil {
		c.add("", "memory", Unchecked, "the pool of this machine is not known")
		return
	}
	detail, result := fmt.Sprintf("expected_memory is %s, this machine has %s", expected, plan.Bytes(*info.MemTotalBytes)), Passes
	if uint64(expected) > *info.MemTotalBytes {
		result = Fails
	}
	c.add("", "memory", result, detail)
}

// file checks a file outside the folder of the arm, which a start would not replace.
func (c *checker) file(file plan.File) {
	if file.Optional || !filepath.IsAbs(file.Path) || c.own(file.Path) {
		return
	}
	check := "file " + file.Path
	found, err := hashOf(file.Path)
	switch {
	case c.needs.LeftOver:
		c.add("", check, Unchecked, whyLeftOver)
	case errors.Is(err, os.ErrNotExist):
		c.add("", check, Passes, "is not there yet")
	case err == nil && found != hash([]byte(file.Text)):
		c.add("", check, Fails, "is there already with other content: move it away")
	default:
		c.addErr("", check, "is there with this content", err)
	}
}

// own reports whether a path is in the folder of the arm.
func (c *checker) own(path string) bool {
	return c.needs.Dir != "" && (path == c.needs.Dir || strings.HasPrefix(path, c.needs.Dir+"/"))
}

func (c *checker) process(ctx context.Context, p plan.Process) {
	where := c.keeper.placeOf(p)
	if p.Host != "" && !c.host(ctx, p.Name, where) {
		return
	}
	where, err := where.find(ctx)
	if p.Container != "" {
		c.addErr(p.Name, "container "+p.Container, "runs", err)
	}
	if err != nil {
		return
	}
	at := runsContainer(p.Argv)
	if at > 0 && detaches(p.Argv[at:]) {
		c.add(p.Name, "command", Fails, "a container that runs in the background (-d) is not a process of the arm: let it run in the foreground")
		return
	}
	if info, err := os.Stat(cmp.Or(p.Cwd, ".")); !where.away() && (err != nil || !info.IsDir()) {
		c.add(p.Name, "cwd "+p.Cwd, Fails, "is no folder")
		return
	}
	if !c.programs(ctx, p, where) {
		return
	}
	if at > 0 && p.Container == "" {
		c.container(ctx, p, where, at)
		return
	}
	c.models(ctx, p, where)
}

// host reports whether a command runs on another machine, with sudo there if the process needs it.
func (c *checker) host(ctx context.Context, process string, where place) bool {
	where.container = ""
	key := strings.Join(where.shell(), " ")
	err, asked := c.hosts[key]
	if !asked {
		_, err = ask(ctx, question{args: where.shell(), input: "true\n"})
		c.hosts[key] = err
	}
	check := "ssh " + where.host
	if where.root {
		check += ", sudo -n"
	}
	c.addErr(process, check, "runs a command", err)
	return err == nil
}

// programs reports whether all programs of a process exist where it runs.
func (c *checker) programs(ctx context.Context, p plan.Process, where place) bool {
	var names []string
	for _, argv := range [][]string{p.Argv, argvOf(p.Ready), argvOf(p.Alive), p.Stop.Argv} {
		if len(argv) > 0 && !slices.Contains(names, argv[0]) {
			names = append(names, argv[0])
		}
	}
	found := true
	for _, name := range names {
		path, err := findIn(ctx, p, where, name)
		c.addErr(p.Name, "program "+name, path, err)
		found = found && err == nil
	}
	return found
}

// findIn returns the path of a program where the process runs.
func findIn(ctx context.Context, p plan.Process, where place, name string) (string, error) {
	if !where.away() {
		return program(name, p.Cwd, p.Env)
	}
	out, err := ask(ctx, question{args: where.shell(), input: inPlace(p.Env, p.Cwd) + "command -v " + quote(name) + " || exit 127\n"})
	if err != nil {
		return "", fmt.Errorf("%s: %q: %w", where, name, err)
	}
	return lastLine(out) + ", " + where.String(), nil
}

// container checks what a command "docker run" needs: the tool, the image, and the paths that it mounts.
func (c *checker) container(ctx context.Context, p plan.Process, where place, at int) {
	tool := slices.DeleteFunc(slices.Clone(p.Argv[:at]), func(word string) bool { return word == "container" })
	name := filepath.Base(tool[0])
	_, err := ask(ctx, question{args: where.command(append(slices.Clone(tool), "ps", "-q")...)})
	c.addErr(p.Name, name, "answers", err)
	if err != nil {
		return
	}
	run := readContainerRun(p.Argv[at+1:])
	switch {
	case run.image == "":
		c.add(p.Name, "image", Unchecked, "it is not found in the command")
	case run.pulls:
		c.add(p.Name, "image "+run.image, Unchecked, name+" pulls it")
	default:
		_, err := ask(ctx, question{args: where.command(append(slices.Clone(tool), "image", "inspect", "--format", "{{.Id}}", run.image)...)})
		if err != nil {
			err = fmt.Errorf("is not there: %s pull %s (%w)", name, run.image, err)
		}
		c.addErr(p.Name, "image "+run.image, "is there", err)
	}
	for _, m := range run.mounts {
		c.path(ctx, p, where, "mount", m.from)
	}
	for _, path := range modelPaths(run.command) {
		if from, ok := run.outside(path); ok {
			c.path(ctx, p, where, "model", from)
		} else {
			c.add(p.Name, "model "+path, Unchecked, "is a path in the image")
		}
	}
}

// models checks the paths of models in a command.
func (c *checker) models(ctx context.Context, p plan.Process, where place) {
	root := ""
	switch filepath.Base(p.Argv[0]) {
	case "chroot":
		if i := slices.IndexFunc(p.Argv[1:], func(word string) bool { return !strings.HasPrefix(word, "-") }); i >= 0 {
			root = p.Argv[1+i]
		}
	case "systemd-nspawn", "bwrap", "nsenter", "unshare":
		for _, path := range modelPaths(p.Argv[1:]) {
			c.add(p.Name, "model "+path, Unchecked, "the process has a root of its own")
		}
		return
	}
	for _, path := range modelPaths(p.Argv[1:]) {
		c.path(ctx, p, where, "model", filepath.Join(root, path))
	}
}

// path checks that a path exists. A path in the arm's own folder is created by its start.
func (c *checker) path(ctx context.Context, p plan.Process, where place, kind, path string) {
	if c.own(path) {
		return
	}
	check := kind + " " + path
	there, err := exists(ctx, where, path)
	switch {
	case err != nil:
		c.add(p.Name, check, Unchecked, err.Error())
	case there:
		c.add(p.Name, check, Passes, "is there")
	default:
		c.add(p.Name, check, Fails, "does not exist")
	}
}

func exists(ctx context.Context, where place, path string) (bool, error) {
	if !where.away() {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	out, err := ask(ctx, question{args: where.shell(), input: "[ -e " + quote(path) + " ] && echo there || echo absent\n"})
	return lastLine(out) == "there", err
}
