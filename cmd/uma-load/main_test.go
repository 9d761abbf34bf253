package main

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// actAsProgram makes the test's own program uma-load.
const actAsProgram = "UMASCOPE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if address := os.Getenv(engineAt); address != "" {
		panic(serveEngine(address))
	}
	if os.Getenv(actAsProgram) != "" {
		main()
	}
	if err := os.Setenv(actAsProgram, "1"); err != nil { // for the processes of the tests
		panic(err)
	}
	os.Exit(m.Run())
}

// command is the program in an empty folder.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Dir = t.TempDir()
	return c
}

// engine serves a simulated engine with these model names; the answers are always the first's.
func engine(t *testing.T, step time.Duration) (url string) {
	t.Helper()
	_, url, stop, err := sim.Serve(sim.Immediate(step))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

func TestBadInputIsOneClearLineAndExit2(t *testing.T) {
	good := engine(t, time.Millisecond)
	several := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":[{"id":"first"},{"id":"sec\u001b[31mond"}]}`))
	}))
	defer several.Close()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	used := t.TempDir()
	if err := os.Mkdir(filepath.Join(used, "r1"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(used, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want []string
		args []string
	}{
		{"no command", []string{"no command"}, nil},
		{"unknown command", []string{"measure"}, []string{"measure"}},
		{"no server", []string{"--url"}, []string{"run"}},
		{"unreachable server", []string{"--url", "http://127.0.0.1:1", "refused"}, []string{"run", "--url", "http://127.0.0.1:1"}},
		{"no such host", []string{"--url", "nowhere.invalid"}, []string{"run", "--url", "http://nowhere.invalid"}},
		{"unknown model", []string{"--model", "gpt-9", "simulated-8b"}, []string{"run", "--url", good, "--model", "gpt-9"}},
		{"several models", []string{"--model", "first", "sec"}, []string{"run", "--url", several.URL}},
		{"negative rate", []string{"--rate", "-1"}, []string{"run", "--url", good, "--arrival", "poisson", "--rate", "-1"}},
		{"zero concurrency", []string{"--concurrency", `"0"`}, []string{"run", "--url", good, "--concurrency", "0"}},
		{"bad lengths", []string{"--input-tokens", "9:1"}, []string{"run", "--url", good, "--input-tokens", "9:1"}},
		{"prompts that do not fit", []string{"--input-tokens", "40000", "32768"}, []string{"run", "--url", good, "--input-tokens", "40000"}},
		{"a folder that cannot be made", []string{"--out", file}, []string{"run", "--url", good, "--out", filepath.Join(file, "runs")}},
		{"a folder that cannot be written to", []string{"--out", "/proc"}, []string{"run", "--url", good, "--out", "/proc"}},
		{"a run that exists", []string{"--run-id", "r1"}, []string{"run", "--url", good, "--out", used, "--run-id", "r1"}},
		{"port in use", []string{"--web.listen-address", "in use"}, []string{"run", "--url", good, "--web.listen-address", taken.Addr().String()}},
		{"telemetry that does not answer", []string{"--telemetry", "spark1"}, []string{"run", "--url", good, "--telemetry", "spark1=http://127.0.0.1:1"}},
		{"a request field that is the run's own", []string{"--extra-body", `"n"`}, []string{"run", "--url", good, "--extra-body", `{"n":2}`}},
		{"unknown scenario", []string{"--scenario", "flood"}, []string{"run", "--url", good, "--scenario", "flood"}},
		{"unknown flag", []string{"--frobnicate"}, []string{"run", "--url", good, "--frobnicate"}},
		{"unknown validity rule", []string{"--validity", "luck"}, []string{"run", "--url", good, "--validity", "luck=1"}},
		{"no such key file", []string{"--api-key-file"}, []string{"run", "--url", good, "--api-key-file", "/nonexistent"}},
		{"no such authorities", []string{"--ca-file"}, []string{"run", "--url", good, "--ca-file", "/nonexistent"}},
		{"check of nothing", []string{"--url"}, []string{"check", "--url", "http://127.0.0.1:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := command(t, c.args...)
			var stderr bytes.Buffer
			run.Stderr = &stderr
			err := run.Run()
			exit := (*exec.ExitError)(nil)
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Fatalf("%v: %s", err, stderr.String())
			}
			// Messages that say what the program did on its own, such as that it found no exporter,
			// are not complaints.
			line := complaint(stderr.String())
			if strings.Count(line, "\n") != 1 || strings.Contains(line, "\x1b") {
				t.Errorf("not one clean line: %q", line)
			}
			for _, word := range c.want {
				if !strings.Contains(line, word) {
					t.Errorf("%q does not say %q", line, word)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(run.Dir, "runs", "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// complaint is stderr without log messages.
func complaint(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "time=") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// started runs the command against a slow engine until requests have been recorded.
func started(t *testing.T) (run *exec.Cmd, folder string) {
	t.Helper()
	server := engine(t, 5*time.Millisecond)
	run = command(t, "run", "--url", server, "--out", "out", "--run-id", "r1", "--web.listen-address", "127.0.0.1:0",
		"--duration=1h", "--warmup=0", "--output-tokens=10", "--concurrency=4")
	folder = filepath.Join(run.Dir, "out", "r1")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if info, err := os.Stat(filepath.Join(folder, "requests.jsonl")); err == nil && info.Size() > 0 {
			return run, folder
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func countRecords(t *testing.T, folder string) (whole int) {
	t.Helper()
	for _, err := range summary.Records(filepath.Join(folder, "requests.jsonl")) {
		switch {
		case errors.Is(err, summary.ErrTorn):
		case err != nil:
			t.Fatal(err)
		default:
			whole++
		}
	}
	return whole
}

func TestASignalEndsTheRunWithACompleteFolder(t *testing.T) {
	run, folder := started(t)
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	exit := (*exec.ExitError)(nil)
	if err := run.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v, want exit 1", err)
	}
	for _, name := range []string{"manifest.json", "schedule.jsonl", "requests.jsonl", "phases.json", "summary.json", "report.md", "report.html"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := countRecords(t, folder); n == 0 {
		t.Error("no records")
	}
}

func TestAKilledRunIsReadable(t *testing.T) {
	run, folder := started(t)
	if err := run.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed, and says so
	if n := countRecords(t, folder); n == 0 {
		t.Error("no records")
	}
	for _, name := range []string{"manifest.json", "schedule.jsonl"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHelpVersionAndCompletionArePrinted(t *testing.T) {
	for want, args := range map[string][]string{
		"--arrival":          {"run", "--help"},
		"healthcheck":        {"--help"},
		"uma-load ":          {"--version"},
		"complete -F":        {"completion", "bash"},
		"#compdef":           {"completion", "zsh"},
		"--web.linger":       {"--completion-bash", "run", "--web.l"},
		"Print a completion": {"help", "completion"},
	} {
		text, err := command(t, args...).Output()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: %v: %s", args, err, text)
		}
	}
}

// uma-load run --help | head
func TestAClosedPipeEndsOutputSilently(t *testing.T) {
	for _, args := range [][]string{{"run", "--help"}, {"--version"}, {"campaign", "plans", "native-container"}, {"completion", "bash"}} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := read.Close(); err != nil {
			t.Fatal(err)
		}
		defer write.Close()
		var messages strings.Builder
		c := command(t, args...)
		c.Stdout, c.Stderr = write, &messages
		if err := c.Run(); err != nil || messages.Len() > 0 {
			t.Errorf("%v: %v: %s", args, err, messages.String())
		}
	}
}
