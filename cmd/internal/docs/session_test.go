//go:build proof

package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// longestStep is the time that a command may take, or a terminal until its address answers.
const longestStep = 4 * time.Minute

// shell is the reader's: one bash for all of a page, and one for each further terminal.
type shell struct {
	session   session
	world     *world
	home      string // where the page begins
	bash      *exec.Cmd
	typed     io.WriteCloser
	ended     *os.File // exit codes, a line each
	gone      chan struct{}
	terminals map[string]*screen
	exits     int64 // how much of the file of exit codes has been read
	quickened map[quick]bool
}

// screen is a terminal of its own.
type screen struct {
	command *exec.Cmd
	output  string // file
	gone    chan struct{}
}

// typeSession is the first process of the namespaces: it prints what came of each step.
func typeSession(file string) int {
	if err := typeAll(file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func typeAll(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s session
	if err := json.Unmarshal(content, &s); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), longestPage)
	defer stop()
	if err := prepare(s.Scratch); err != nil {
		return err
	}
	w, err := newWorld(ctx, filepath.Join(s.Scratch, "world"))
	if err != nil {
		return err
	}
	defer w.close()
	sh, err := newShell(s, w)
	if err != nil {
		return err
	}
	defer sh.close()
	out := json.NewEncoder(os.Stdout)
	for _, st := range s.Steps {
		o := outcome{Line: st.Line}
		if err := sh.take(ctx, st, &o); err != nil {
			o.Problem = err.Error()
		}
		o.Foreign = w.foreign()
		if err := out.Encode(o); err != nil {
			return err
		}
		if o.Problem != "" {
			return nil // what comes after it builds on it
		}
	}
	for _, q := range s.Quick {
		if !sh.quickened[q] {
			return fmt.Errorf("the page has no %s with %q any more: say anew what makes it quick", q.File, q.Old)
		}
	}
	return nil
}

// prepare makes the namespaces what a fresh machine is: a loopback, and empty folders where pages have theirs. All else of
// the file system can be read only: a page that says more than it should changes nothing of whoever tests it.
func prepare(scratch string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	for _, folder := range []string{"/srv", "/mnt", "/run"} {
		if err := unix.Mount("tmpfs", folder, "tmpfs", 0, ""); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
	}
	if err := os.Mkdir("/run/udev", 0o755); err != nil { // which a page mounts into a container, and not every machine has
		return err
	}
	if err := unix.Mount(scratch, scratch, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s: %w", scratch, err)
	}
	var kept unix.Statfs_t // flags that a mount has, a user's namespace may not take away
	if err := unix.Statfs("/", &kept); err != nil {
		return err
	}
	flags := uintptr(kept.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME | unix.MS_RELATIME)
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, ""); err != nil {
		return fmt.Errorf("the file system: %w", err)
	}
	return os.Setenv("TMPDIR", scratch) // where the simulated host has its files
}

// checkout is a folder with all that the repository has at its top, to be read.
func checkout(folder, top string) error {
	entries, err := os.ReadDir(top)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		switch entry.Name() {
		case ".git", "bin", "runs", "uma-demo":
			continue
		}
		if err := os.Symlink(filepath.Join(top, entry.Name()), filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// newShell starts bash in a folder that represents a clone of the repository.
func newShell(s session, w *world) (*shell, error) {
	sh := &shell{session: s, world: w, home: filepath.Join(s.Scratch, "home", "umascope"), gone: make(chan struct{}), terminals: map[string]*screen{}, quickened: map[quick]bool{}}
	bin := filepath.Join(s.Scratch, "bin")
	if err := errors.Join(checkout(sh.home, s.Root), os.MkdirAll(bin, 0o755)); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, name := range standInNames() {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			return nil, err
		}
	}
	sh.bash = exec.Command("bash", "--noprofile", "--norc")
	sh.bash.Dir = sh.home
	sh.bash.Env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + filepath.Dir(sh.home), "USER=reader", "LANG=C.UTF-8", "TERM=dumb", "TMPDIR=" + s.Scratch,
		worldAt + "=" + w.socket, "UMASCOPE_DOCS_ROOT=" + s.Root, "UMASCOPE_DOCS_PROGRAMS=" + s.Programs, "UMASCOPE_DOCS_BIN=" + bin, "UMASCOPE_DOCS_EXITS=" + sh.exitsFile(),
	}
	sh.bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	codes, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	sh.ended, sh.bash.ExtraFiles = codes, []*os.File{write}
	if sh.typed, err = sh.bash.StdinPipe(); err != nil {
		return nil, err
	}
	if err := sh.bash.Start(); err != nil {
		return nil, err
	}
	write.Close()
	go func() {
		_ = sh.bash.Wait() // its code is told by whoever waits for a step
		close(sh.gone)
	}()
	return sh, nil
}

func (sh *shell) exitsFile() string { return filepath.Join(sh.session.Scratch, "exits") }

func (sh *shell) close() {
	for name := range sh.terminals {
		_ = sh.end(name, new(outcome)) // the namespace ends what is left
	}
	sh.typed.Close()
}

// take does what the reader does in a step.
func (sh *shell) take(ctx context.Context, s step, o *outcome) error {
	ctx, stop := context.WithTimeout(ctx, longestStep)
	defer stop()
	switch {
	case s.CtrlC != "":
		return sh.end(s.CtrlC, o)
	case s.Terminal != "":
		return sh.open(ctx, s, o)
	default:
		return sh.enter(ctx, s, o)
	}
}

// enter types a block and waits until it is done.
func (sh *shell) enter(ctx context.Context, s step, o *outcome) error {
	script, output, err := sh.write(s)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("set -e; . %s </dev/null >%s 2>&1 3>&-; set +e; echo 0 >&3\n", script, output)
	if s.Ends != "" {
		line = fmt.Sprintf("(set -e; . %s) </dev/null >%s 2>&1 3>&-; echo $? >&3\n", script, output)
	}
	if _, err := io.WriteString(sh.typed, line); err != nil {
		return err
	}
	code := make(chan string, 1)
	go func() {
		var text [8]byte
		n, err := sh.ended.Read(text[:])
		if err != nil {
			n = 0
		}
		code <- strings.TrimSpace(string(text[:n]))
	}()
	var ended string
	select {
	case ended = <-code:
		if ended == "" { // the shell has gone
			<-sh.gone
			ended = fmt.Sprint(sh.bash.ProcessState.ExitCode())
		}
	case <-sh.gone:
		ended = fmt.Sprint(sh.bash.ProcessState.ExitCode())
	case <-ctx.Done():
		err = fmt.Errorf("it does not end within %v", longestStep)
	}
	text, readErr := os.ReadFile(output)
	o.Output = string(text)
	if err := errors.Join(err, readErr); err != nil {
		return err
	}
	want := s.Ends
	if want == "" {
		want = "0"
	}
	if ended != want {
		return fmt.Errorf("it ends with %s, not %s", ended, want)
	}
	if hidden := sh.unseen(); hidden != "" && s.Ends == "" {
		return fmt.Errorf("what the shell does not tell: %s", hidden)
	}
	return sh.hasten()
}

// write makes files of a block and for its output.
func (sh *shell) write(s step) (script, output string, err error) {
	script = filepath.Join(sh.session.Scratch, fmt.Sprintf("line-%d.sh", s.Line))
	return script, strings.TrimSuffix(script, ".sh") + ".out", os.WriteFile(script, []byte(s.Text), 0o644)
}

// unseen are programs of the project whose failure the shell hides, as in a pipeline.
func (sh *shell) unseen() string {
	text, err := os.ReadFile(sh.exitsFile())
	if err != nil || int64(len(text)) <= sh.exits {
		return ""
	}
	fresh := string(text[sh.exits:])
	sh.exits = int64(len(text))
	var failed []string
	for line := range strings.Lines(fresh) {
		if !strings.HasPrefix(line, "0 ") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	return strings.Join(failed, "; ")
}

// hasten makes what the page has written quick.
func (sh *shell) hasten() error {
	here, err := sh.here()
	if err != nil {
		return err
	}
	for _, q := range sh.session.Quick {
		if sh.quickened[q] {
			continue
		}
		done, err := q.apply(here)
		if err != nil {
			return err
		}
		sh.quickened[q] = done
	}
	return nil
}

// here is the folder in which the reader is.
func (sh *shell) here() (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/%d/cwd", sh.bash.Process.Pid))
}

// open types a block in a terminal of its own, where the first one is, and waits until its address answers.
func (sh *shell) open(ctx context.Context, s step, o *outcome) error {
	if sh.terminals[s.Terminal] != nil {
		return fmt.Errorf("terminal %s is in use", s.Terminal)
	}
	script, output, err := sh.write(s)
	if err != nil {
		return err
	}
	here, err := sh.here()
	if err != nil {
		return err
	}
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer file.Close()
	t := &screen{command: exec.Command("bash", "--noprofile", "--norc", "-e", script), output: output, gone: make(chan struct{})}
	t.command.Dir, t.command.Env, t.command.Stdout, t.command.Stderr = here, sh.bash.Env, file, file
	t.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := t.command.Start(); err != nil {
		return err
	}
	go func() {
		_ = t.command.Wait()
		close(t.gone)
	}()
	sh.terminals[s.Terminal] = t
	for answered(s.Until) != nil {
		select {
		case <-t.gone:
			err = fmt.Errorf("it ends before %s answers: %v", s.Until, t.command.ProcessState)
		case <-ctx.Done():
			err = fmt.Errorf("%s does not answer within %v", s.Until, longestStep)
		case <-time.After(50 * time.Millisecond):
			continue
		}
		break
	}
	text, readErr := os.ReadFile(output)
	o.Output = string(text)
	return errors.Join(err, readErr)
}

func answered(address string) error {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		connection.Close()
	}
	return err
}

// end presses Ctrl-C in a terminal and waits until what runs there has ended.
func (sh *shell) end(name string, o *outcome) error {
	t := sh.terminals[name]
	if t == nil {
		return fmt.Errorf("nothing runs in a terminal %s", name)
	}
	delete(sh.terminals, name)
	if err := syscall.Kill(-t.command.Process.Pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	select {
	case <-t.gone:
	case <-time.After(30 * time.Second):
		return fmt.Errorf("what runs in terminal %s does not end by Ctrl-C", name)
	}
	_ = sh.unseen() // of an interrupt
	text, err := os.ReadFile(t.output)
	o.Output = string(text)
	return err
}
