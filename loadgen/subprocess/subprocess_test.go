package subprocess

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is the program too, when this variable says what it shall do.
const act = "COMMAND_TEST_ACT"

func TestMain(m *testing.M) {
	switch os.Getenv(act) {
	case "":
		os.Exit(m.Run())
	case "speak":
		_, _ = os.Stdout.WriteString("out\n")
		_, _ = os.Stderr.WriteString("err\n")
		text, _ := io.ReadAll(os.Stdin)
		_, _ = os.Stdout.WriteString("read " + strconv.Itoa(len(text)) + ", " + os.Getenv("PYTHONUNBUFFERED") + "\n")
		os.Exit(7)
	case "deaf":
		signal.Ignore(unix.SIGINT)
		fallthrough
	case "wait":
		_, _ = os.Stdout.WriteString("ready\n")
		time.Sleep(time.Hour)
	case "hold":
		time.Sleep(time.Hour)
	case "parent": // its child holds the output, and writes nothing: the order of their lines would be chance
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), act+"=hold")
		child.Stdout = os.Stdout
		if child.Start() != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString("child " + strconv.Itoa(child.Process.Pid) + "\n")
		if os.Getenv("STAY") == "" {
			os.Exit(0)
		}
		time.Sleep(time.Hour)
	case "talk":
		line := bytes.Repeat([]byte("x"), 1<<16)
		for range 100 << 4 { // 100 MiB
			_, _ = os.Stdout.Write(line)
		}
	}
}

// spoken collects what a program writes, and says when it has written something.
type spoken struct {
	text  bytes.Buffer
	first chan string
}

func newSpoken() *spoken { return &spoken{first: make(chan string, 1)} }

func (s *spoken) Write(text []byte) (int, error) {
	s.text.Write(text)
	if strings.Contains(s.text.String(), "\n") {
		select {
		case s.first <- s.text.String():
		default:
		}
	}
	return len(text), nil
}

func start(t *testing.T, what string, stdout, stderr io.Writer) *Command {
	t.Helper()
	t.Setenv(act, what)
	c, err := Start(Options{Args: []string{os.Args[0]}, Stdout: stdout, Stderr: stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return c
}

func TestAProgramsOutputAndExitCodeAreItsOwn(t *testing.T) {
	withoutUnbuffered(t)
	var stdout, stderr bytes.Buffer
	c := start(t, "speak", &stdout, &stderr)
	<-c.Ended()
	if e := c.Exit(); e.Code != 7 || e.Signal != "" || e.OutputLeft || e.String() != "ended with exit code 7" {
		t.Errorf("%+v", e)
	}
	if stdout.String() != "out\nread 0, 1\n" || stderr.String() != "err\n" {
		t.Errorf("%q %q", stdout.String(), stderr.String())
	}
}

// withoutUnbuffered takes the variable out of the environment of a test: containers often set it.
func withoutUnbuffered(t *testing.T) {
	t.Helper()
	t.Setenv("PYTHONUNBUFFERED", "") // puts it back afterwards
	if err := os.Unsetenv("PYTHONUNBUFFERED"); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsSaidOfPythonsBuffersIsKept(t *testing.T) {
	t.Setenv("PYTHONUNBUFFERED", "0")
	var stdout bytes.Buffer
	<-start(t, "speak", &stdout, io.Discard).Ended()
	if stdout.String() != "out\nread 0, 0\n" {
		t.Errorf("%q", stdout.String())
	}
}

func TestWhatIsMeantForUsAloneIsNotInherited(t *testing.T) {
	t.Setenv(NotifyVariable, "https://hooks.example/secret")
	t.Setenv("WORD", "w")
	var stdout bytes.Buffer
	c, err := Start(Options{Args: []string{"env"}, Stdout: &stdout, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	<-c.Ended()
	if text := stdout.String(); strings.Contains(text, "secret") || !strings.Contains(text, "WORD=w\n") {
		t.Errorf("%s", text)
	}
}

func TestAProgramMayHaveItsOwnEnvironmentFolderInputAndFile(t *testing.T) {
	folder := t.TempDir()
	in, err := os.Create(filepath.Join(folder, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.WriteString("12345"); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(folder, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c, err := Start(Options{Args: []string{"sh", "-c", `pwd; cat; echo " $WORD $PYTHONUNBUFFERED"; cut -d" " -f6 /proc/$$/stat`}, Stdin: in, Stdout: out, Stderr: out, Env: []string{"PATH=" + os.Getenv("PATH"), "WORD=w"}, Dir: folder, Session: true})
	if err != nil {
		t.Fatal(err)
	}
	<-c.Ended()
	text, err := os.ReadFile(out.Name())
	want := folder + "\n12345 w 1\n" + strconv.Itoa(c.PID())
	if err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("%q, want %q, %v", text, want, err)
	}
}

func TestAnInterruptReachesTheProgramAndKillEndsOneThatIsDeaf(t *testing.T) {
	for what, want := range map[string]Exit{"wait": {Code: 130, Signal: "SIGINT"}, "deaf": {Code: 137, Signal: "SIGKILL"}} {
		t.Run(what, func(t *testing.T) {
			out := newSpoken()
			c := start(t, what, out, io.Discard)
			<-out.first
			c.Interrupt()
			if what == "deaf" {
				select {
				case <-c.Ended():
					t.Fatal("it heard")
				case <-time.After(50 * time.Millisecond):
				}
				c.Kill()
			}
			<-c.Ended()
			if e := c.Exit(); e != want {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestASignalReachesWhatTheProgramStarted(t *testing.T) {
	t.Setenv("STAY", "1")
	out := newSpoken()
	c := start(t, "parent", out, io.Discard)
	line := <-out.first
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(strings.SplitAfter(line, "\n")[0], "child ")))
	if err != nil {
		t.Fatal(err)
	}
	c.Interrupt()
	<-c.Ended()
	for range 6000 { // until init has reaped it
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) || zombie(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d lives on", pid)
}

func zombie(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(text), ") Z ")
}

func TestOutputThatIsHeldByOthersIsNotWaitedForForEver(t *testing.T) {
	c := start(t, "parent", io.Discard, io.Discard)
	<-c.Ended()
	if e := c.Exit(); e.Code != 0 || !e.OutputLeft {
		t.Errorf("%+v", e)
	}
}

type counter int

func (c *counter) Write(text []byte) (int, error) {
	*c += counter(len(text))
	return len(text), nil
}

type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, errors.New("gone")
}

func TestMuchOutputComesThroughThoughAReaderHasGone(t *testing.T) {
	var got counter
	gone := &broken{}
	c := start(t, "talk", NewOutput(gone, &got), io.Discard)
	<-c.Ended()
	if got != 100<<20 || gone.writes != 1 || c.Exit().Code != 0 {
		t.Errorf("%d bytes, %d writes to a broken one, %v", got, gone.writes, c.Exit())
	}
}

func TestAProgramThatIsNotThereIsToldBefore(t *testing.T) {
	if err := Find("/no/such/program"); err == nil {
		t.Error("found")
	}
	if err := Find(os.Args[0]); err != nil {
		t.Error(err)
	}
	noProgram := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(noProgram, []byte("\x00no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Options{Args: []string{noProgram}}); err == nil {
		t.Error("started")
	}
}
