//go:build proof

package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// These are tests of the program as it is built: signals, what it leaves running, the disk.

// built is the path of the program, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "uma-demo")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "uma-demo")
	text, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", errors.New(string(text))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := built(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is the program in an empty folder.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

func program(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(path, args...)}
	p.Dir = t.TempDir()
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.WaitDelay = time.Minute // its output is held by nobody else
	return p
}

// begin starts the program; it is gone at the end of the test in any case.
func (p *process) begin(t *testing.T) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // in vain if it has ended
}

// await waits until something is in the folder of the program.
func (p *process) await(t *testing.T, pattern string) []string {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		found, err := filepath.Glob(filepath.Join(p.Dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no %s after two minutes:\n%s%s", pattern, p.stdout.String(), p.stderr.String())
		}
	}
}

// leftovers are processes of the program that still run for a demo in that folder.
func (p *process) leftovers(t *testing.T) (commands []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		words := strings.Split(string(line), "\x00")
		if words[0] != p.Path || filepath.Base(filepath.Dir(path)) == "self" {
			continue
		}
		if at, err := os.Readlink(filepath.Join(filepath.Dir(path), "cwd")); err == nil && at == p.Dir {
			commands = append(commands, strings.Join(words, " "))
		}
	}
	return commands
}

// expectNothingLeft fails if a process of the demo goes on, or one of its addresses answers.
func (p *process) expectNothingLeft(t *testing.T, patience time.Duration) {
	t.Helper()
	left := p.leftovers(t)
	for deadline := time.Now().Add(patience); len(left) > 0 && time.Now().Before(deadline); left = p.leftovers(t) {
		time.Sleep(20 * time.Millisecond)
	}
	for _, command := range left {
		t.Errorf("left running: %s", command)
	}
	plans, err := filepath.Glob(filepath.Join(p.Dir, "*", "demo-*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range plans {
		text, err := os.ReadFile(plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(string(text), -1) {
			if connection, err := net.DialTimeout("tcp", address, time.Second); err == nil {
				connection.Close()
				t.Errorf("%s: %s still listens", filepath.Base(plan), address)
			}
		}
	}
}

// enough is how long the program may take to end: five seconds, and more where many tests share the machine.
const enough = 30 * time.Second

// ends waits until the program has ended.
func (p *process) ends(t *testing.T) (code int, took time.Duration) {
	t.Helper()
	began := time.Now()
	late := time.AfterFunc(enough, func() {
		t.Errorf("it has not ended after %v", enough)
		_ = p.Process.Signal(syscall.SIGQUIT) // with its goroutines in what it said
	})
	defer late.Stop()
	_ = p.Wait() // how it ended is in its state
	return p.ProcessState.ExitCode(), time.Since(began)
}

// acts are what there is in the folder when a demo has come so far.
func acts() map[string]string {
	return map[string]string{
		"as it starts":            "uma-demo",
		"as its machines start":   "uma-demo/demo-*/samples/wal",
		"as its campaigns start":  "uma-demo/demo-*/blocks/journal.jsonl",
		"while an arm comes up":   "uma-demo/demo-*/blocks/arms/*/*/arm.json",
		"in the middle of runs":   "uma-demo/demo-*/abba/2*/requests.jsonl",
		"between two runs":        "uma-demo/demo-*/equal/2*/summary.json",
		"in a trial":              "uma-demo/demo-*/rehydrate/requests.jsonl",
		"in the hot room":         "uma-demo/demo-*/rehydrate/report.html",
		"when arms are compared":  "uma-demo/demo-*/blocks-comparison.html",
		"when the report is made": "uma-demo/report.html",
	}
}

func TestASignalEndsADemoAtAnyMomentAndNothingOfItIsLeft(t *testing.T) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	number := 0
	for name, pattern := range acts() {
		sent := signals[number%len(signals)]
		number++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t, "--quick")
			p.begin(t)
			p.await(t, pattern)
			if err := p.Process.Signal(sent); err != nil {
				t.Skip("it has ended before the signal: ", err)
			}
			code, took := p.ends(t)
			t.Logf("%v: ended after %v with exit code %d: %s", sent, took.Round(10*time.Millisecond), code, p.stderr.String())
			p.expectNothingLeft(t, 0)
			p.expectHonestEnd(t, code)
		})
	}
}

// expectHonestEnd wants a demo that was interrupted to say so in a line and on its page, if it has one; or to have been
// done by then.
func (p *process) expectHonestEnd(t *testing.T, code int) {
	t.Helper()
	output := p.stderr.String()
	if code == 0 {
		if output != "" {
			t.Errorf("exit code 0, and it says %q", output)
		}
		return
	}
	if code != 1 || strings.Count(output, "\n") != 1 || !strings.Contains(output, "interrupted") {
		t.Errorf("exit code %d: %q", code, output)
	}
	page, err := os.ReadFile(filepath.Join(p.Dir, "uma-demo", "report.html"))
	if err == nil && !strings.Contains(string(page), "ended before") && !strings.Contains(string(page), "ended early") {
		t.Error("the page does not say that the demo was ended early")
	}
}

func TestASecondSignalCutsWhatTheFirstLetsEnd(t *testing.T) {
	p := program(t, "--quick")
	p.begin(t)
	p.await(t, "uma-demo/demo-*/rehydrate/requests.jsonl")
	for range 2 {
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // two at once are one to the kernel
	}
	code, took := p.ends(t)
	t.Logf("ended after %v", took.Round(10*time.Millisecond))
	p.expectNothingLeft(t, 0)
	p.expectHonestEnd(t, code)
	if page, err := os.ReadFile(filepath.Join(p.Dir, "uma-demo", "report.html")); err != nil || strings.Contains(string(page), "finished runs are not served") {
		t.Errorf("the page calls what was cut by hand a problem of its own, or is not there: %v", err)
	}
}

func TestWhatADemoHasStartedDoesNotOutliveItsEndByForce(t *testing.T) {
	p := program(t, "--quick")
	p.begin(t)
	p.await(t, "uma-demo/demo-*/*/2*/requests.jsonl")
	for deadline := time.Now().Add(time.Minute); len(p.leftovers(t)) < 2; { // the demo and a process of an arm
		if time.Now().After(deadline) {
			t.Fatal("no process of an arm runs")
		}
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	p.expectNothingLeft(t, 10*time.Second)
}
