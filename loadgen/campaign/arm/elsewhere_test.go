package arm

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The other places of the tests are this machine, reached by programs of the names of the real ones: they
// write down their words and hand them to the elsewhere of the test, so that what runs there descends
// from it and not from them, and goes on when they are killed.

// call is what a client asks for; what it reads comes after it.
type call struct{ Words []string }

// part is something of the answer: output, or at last the exit code.
type part struct {
	Text []byte
	Code *int
}

// client asks elsewhere and returns its exit code.
func client(folder string, words []string) int {
	conn, err := net.Dial("unix", filepath.Join(folder, "socket"))
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(conn).Encode(call{words}); err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	for answers := json.NewDecoder(conn); ; {
		var p part
		if err := answers.Decode(&p); err != nil {
			panic(err)
		}
		if p.Code != nil {
			return *p.Code
		}
		_, _ = os.Stdout.Write(p.Text)
	}
}

// fakeSudo runs the rest as it is.
const fakeSudo = `[ -e "$FAKES/refused" ] && { echo "sudo: a password is required" >&2; exit 1; }
while case "$1" in -n | -- | --preserve*) true ;; *) false ;; esac; do shift; done
exec "$@"
`

// fakes puts the programs first on the path and returns what they were asked.
func fakes(t *testing.T) (folder string, calls func() string) {
	t.Helper()
	folder = t.TempDir()
	reach := func(name string) string { return act + "=client exec " + os.Args[0] + " " + name + ` "$@"` + "\n" }
	for name, script := range map[string]string{"docker": reach("docker"), "ssh": reach("ssh"), "sudo": fakeSudo} {
		text := "#!/bin/sh\necho \"" + name + " $*\" >>\"$FAKES/diary\"\n" + script
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("FAKES", folder)
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	l, err := net.Listen("unix", filepath.Join(folder, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	e := elsewhere{t: t, folder: folder}
	go e.listen(l)
	t.Cleanup(func() {
		_ = l.Close()
		e.answering.Wait()
	})
	return folder, func() string { return read(t, filepath.Join(folder, "diary")) }
}

// elsewhere is another machine and its containers.
type elsewhere struct {
	t         *testing.T
	folder    string
	answering sync.WaitGroup
}

func (e *elsewhere) listen(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		e.answering.Go(func() { e.answer(conn) })
	}
}

func (e *elsewhere) is(state string) bool {
	_, err := os.Stat(filepath.Join(e.folder, state))
	return err == nil
}

func (e *elsewhere) answer(conn net.Conn) {
	defer conn.Close()
	requests := json.NewDecoder(conn)
	var c call
	if err := requests.Decode(&c); err != nil {
		e.t.Error(err)
		return
	}
	out := answering{json.NewEncoder(conn)}
	code := e.do(c.Words, io.MultiReader(requests.Buffered(), conn), out)
	_ = out.Encode(part{Code: &code}) // the client may have been killed
}

// answering is what comes out of a command there.
type answering struct{ *json.Encoder }

func (a answering) Write(text []byte) (int, error) { return len(text), a.Encode(part{Text: text}) }

func (e *elsewhere) do(words []string, in io.Reader, out io.Writer) int {
	say := func(text string, code int) int {
		_, _ = io.WriteString(out, text)
		return code
	}
	if words[0] == "ssh" {
		if e.is("unreachable") {
			return 255
		}
		return e.run(exec.Command("sh", "-c", strings.Join(words[slices.Index(words, "node2")+1:], " ")), in, out)
	}
	switch i := slices.IndexFunc(words, func(w string) bool { return slices.Contains([]string{"inspect", "exec", "run", "ps", "stop"}, w) }); words[i] {
	case "inspect":
		if slices.Contains(words, "image") {
			return map[bool]int{true: 1}[e.is("imageless")]
		}
		if slices.Contains(words, "{{.Image}}") {
			return say("sha256:9d8e7f\n", 0)
		}
		return say(map[bool]string{true: "false\n", false: "true\n"}[e.is("stopped")], 0)
	case "exec":
		if e.is("stopped") {
			return 1
		}
		return e.run(exec.Command(words[len(words)-1]), in, out)
	case "run": // a container that is there until it is stopped
		appendTo(filepath.Join(e.folder, "box"), "")
		say("it is ready\n", 0)
		for e.is("box") { // and its client too, which may be killed
			if _, err := out.Write(nil); err != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	case "ps":
		if e.is("mute") {
			return 1
		}
		if e.is("box") {
			return say("box\n", 0)
		}
	case "stop":
		_ = os.Remove(filepath.Join(e.folder, words[len(words)-1]))
	}
	return 0
}

// run runs a command in a session of its own, as sshd and container engines do, without what the client
// has in its environment.
func (e *elsewhere) run(c *exec.Cmd, in io.Reader, out io.Writer) int {
	c.Stdin, c.Stdout, c.Stderr, c.SysProcAttr = in, out, out, &syscall.SysProcAttr{Setsid: true}
	err := c.Run()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return exit.ExitCode()
	}
	if err != nil {
		return 126
	}
	return 0
}
