package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// The faults of this file are those of the process: signals, descriptors, the disk.

// limited puts the command under a limit of the shell's ulimit.
func limited(t *testing.T, limit string, c *exec.Cmd) *exec.Cmd {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	c.Args = append([]string{"sh", "-c", "ulimit " + limit + ` && exec "$0" "$@"`, c.Path}, c.Args[1:]...)
	c.Path = shell
	return c
}

// ended runs the command and returns its exit code and its complaint.
func ended(t *testing.T, c *exec.Cmd) (code int, output string) {
	t.Helper()
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), complaint(stderr.String())
}

// folderOf is the folder that the command writes.
func folderOf(c *exec.Cmd) string { return filepath.Join(c.Dir, "out", "r1") }

// running is a run with that folder and these arguments, of short answers.
func running(t *testing.T, url string, args ...string) *exec.Cmd {
	t.Helper()
	return command(t, append([]string{"run", "--url", url, "--out=out", "--run-id=r1", "--web.listen-address=127.0.0.1:0", "--warmup=0"}, args...)...)
}

// readJSON reads a file that must be whole.
func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

// state is what the manifest says of the run.
func state(t *testing.T, folder string) string {
	t.Helper()
	var manifest struct{ State string }
	readJSON(t, filepath.Join(folder, "manifest.json"), &manifest)
	return manifest.State
}

// reasons are the codes and texts for which the run is invalid.
func reasons(t *testing.T, folder string) string {
	t.Helper()
	var sum summary.Summary
	readJSON(t, filepath.Join(folder, "summary.json"), &sum)
	if sum.Valid != (len(sum.InvalidReasons) == 0) {
		t.Errorf("valid: %v, for %v", sum.Valid, sum.InvalidReasons)
	}
	return fmt.Sprint(sum.InvalidReasons)
}

// statuses counts the records by status; a torn last line is left out.
func statuses(t *testing.T, folder string) (counts map[openai.Status]int, errorTexts string) {
	t.Helper()
	counts = map[openai.Status]int{}
	for r, err := range summary.Records(filepath.Join(folder, "requests.jsonl")) {
		if errors.Is(err, summary.ErrTorn) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		counts[r.Status]++
		errorTexts += r.Error + "\n"
	}
	return counts, errorTexts
}

// expectWhole checks that every file of a run that ended is there, and nothing half-written.
func expectWhole(t *testing.T, folder string) {
	t.Helper()
	for _, name := range []string{"manifest.json", "schedule.jsonl", "requests.jsonl", "phases.json", "summary.json", "report.md", "report.html"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	expectNoRemains(t, folder)
}

// expectNoRemains looks for the files that others are written as before they get their names.
func expectNoRemains(t *testing.T, folder string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRequestsThatFindNoDescriptorFailAndTheFolderIsComplete(t *testing.T) {
	server := engine(t, 20*time.Millisecond)
	run := limited(t, "-n 240", running(t, server, "--arrival=constant", "--rate=2000", "--requests=200", "--output-tokens=20"))
	code, output := ended(t, run)
	if code != 3 || !strings.Contains(output, "error_rate") {
		t.Errorf("exit %d: %s", code, output)
	}
	expectWhole(t, folderOf(run))
	counts, errorTexts := statuses(t, folderOf(run))
	if counts[openai.StatusOK] == 0 || counts[openai.StatusConnect] == 0 || counts[openai.StatusOK]+counts[openai.StatusConnect] != 200 {
		t.Errorf("requests by status: %v", counts)
	}
	if !strings.Contains(errorTexts, "connections are open") {
		t.Errorf("errors: %s", errorTexts)
	}
}

func TestALoopThatNeedsMoreDescriptorsThanThereAreIsRefused(t *testing.T) {
	server := engine(t, time.Millisecond)
	for limit, args := range map[string][]string{
		"-n 300": {"--concurrency=200"},
		"-n 100": {"--concurrency=1"},
	} {
		run := limited(t, limit, running(t, server, args...))
		code, output := ended(t, run)
		if code != 2 || strings.Count(output, "\n") != 1 || !strings.Contains(output, "ulimit -n") {
			t.Errorf("%s %v: exit %d: %s", limit, args, code, output)
		}
		if _, err := os.Stat(folderOf(run)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s %v: a folder is left: %v", limit, args, err)
		}
	}
}

// The limit of a file's size stands for the end of the disk: writes fail in the same place, and it
// needs neither root nor a file system.
func TestADiskThatIsFullFailsTheRunAndLeavesWhatCouldBeWritten(t *testing.T) {
	server := engine(t, time.Millisecond)
	const blocks = 512 // bytes, of ulimit -f
	for name, c := range map[string]struct {
		kilobytes, requests int
		want                string
		lost                bool
	}{
		"for the records":      {64, 100, "requests.jsonl: file too large", true},
		"for the report alone": {80, 30, "report.html", false},
	} {
		t.Run(name, func(t *testing.T) {
			run := limited(t, fmt.Sprint("-f ", c.kilobytes<<10/blocks), running(t, server, fmt.Sprint("--requests=", c.requests), "--concurrency=8", "--output-tokens=20"))
			code, output := ended(t, run)
			if code != 1 || strings.Count(output, "\n") != 1 || !strings.Contains(output, c.want) || strings.Contains(output, "are lost") != c.lost {
				t.Errorf("exit %d: %s", code, output)
			}
			folder := folderOf(run)
			counts, _ := statuses(t, folder)
			if n := counts[openai.StatusOK]; n == 0 || c.lost != (n < c.requests) {
				t.Errorf("%d records", n)
			}
			if got := strings.Contains(reasons(t, folder), "file too large"); got != c.lost {
				t.Errorf("invalid because of the disk: %v, want %v", got, c.lost)
			}
			if got := state(t, folder) == "failed"; got != c.lost {
				t.Errorf("state failed: %v, want %v", got, c.lost)
			}
			expectNoRemains(t, folder)
		})
	}
}

func TestAPlanThatDoesNotFitOnTheDiskIsAnUnusableEnvironment(t *testing.T) {
	run := limited(t, "-f 8", running(t, engine(t, time.Millisecond), "--requests=1000"))
	code, output := ended(t, run)
	if code != 2 || strings.Count(output, "\n") != 1 || strings.Count(output, "file too large") != 1 || !strings.Contains(output, "--out") {
		t.Errorf("exit %d: %s", code, output)
	}
	if _, err := os.Stat(folderOf(run)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder is left: %v", err)
	}
}

// underWay starts the command and waits until requests have been recorded.
func underWay(t *testing.T, run *exec.Cmd) {
	t.Helper()
	// What the tests run under may ignore it, as nohup does, and a program inherits that unless the signal is caught.
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangUp) })
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = run.Process.Kill() } // in vain if it has ended
	bound := time.AfterFunc(time.Minute, kill)
	t.Cleanup(func() { bound.Stop(); kill() })
	awaitLines(t, filepath.Join(folderOf(run), "requests.jsonl"))
}

// awaitLines waits until something was written to the file.
func awaitLines(t *testing.T, path string) {
	t.Helper()
	for info, err := os.Stat(path); err != nil || info.Size() == 0; info, err = os.Stat(path) {
		if t.Context().Err() != nil {
			t.Fatalf("nothing was written to %s", path)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// awaitText waits until the file has the text, for a minute at most.
func awaitText(t *testing.T, path, text string) {
	t.Helper()
	var read []byte
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		read, _ = os.ReadFile(path) // it may not be there yet
		if strings.Contains(string(read), text) {
			return
		}
	}
	t.Fatalf("%q was not said, only %s", text, read)
}

// silent is an engine whose long prompts are never answered, but for so many.
func silent(t *testing.T, answers int) *httptest.Server {
	t.Helper()
	left := make(chan struct{}, answers)
	for range answers {
		left <- struct{}{}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const probe = 1000                 // bytes; the prompts of the load are longer
		_, _ = io.Copy(io.Discard, r.Body) // a server notices that its client is gone only then
		if r.URL.Path == "/v1/models" {
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
			return
		}
		if r.ContentLength >= probe {
			select {
			case <-left:
			default:
				<-r.Context().Done()
				return
			}
		}
		_, _ = w.Write([]byte(`{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server
}

func TestASecondSignalCancelsWhatIsInFlight(t *testing.T) {
	for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		run := running(t, silent(t, 4).URL, "--no-stream", "--duration=1h", "--concurrency=3", "--grace=1h")
		output := filepath.Join(t.TempDir(), "said")
		file, err := os.Create(output)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		run.Stderr = file
		underWay(t, run)
		// Two of one kind at once are one to the kernel: the second is sent once the first is known to have come.
		if err := run.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		awaitText(t, output, "interrupt again")
		if err := run.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		_ = run.Wait() // until it is killed, if the second one does nothing
		if code := run.ProcessState.ExitCode(); code != 1 {
			t.Errorf("%v twice: exit %d", sent, code)
		}
		expectWhole(t, folderOf(run))
		if counts, _ := statuses(t, folderOf(run)); counts[openai.StatusCancelled] != 3 {
			t.Errorf("%v twice: requests by status: %v", sent, counts)
		}
		if got := state(t, folderOf(run)); got != "interrupted" {
			t.Errorf("%v twice: state %s", sent, got)
		}
	}
}

func TestASignalLeavesACompleteFolderAfterMessagesAreClosed(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	run := running(t, engine(t, 5*time.Millisecond), "--duration=1h", "--output-tokens=10")
	run.Stdout, run.Stderr = write, write
	underWay(t, run)
	// As Ctrl-C does to "uma-load run … | tee log".
	read.Close()
	write.Close()
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	if code := run.ProcessState.ExitCode(); code != 1 {
		t.Errorf("%v", run.ProcessState)
	}
	expectWhole(t, folderOf(run))
}

func TestAKilledRunIsReadableUpToItsLastLine(t *testing.T) {
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "uma_exporter_mode{mode=\"constructed\"} 1\numa_memory_pool_bytes 1\n")
	}))
	defer exporter.Close()
	run := running(t, engine(t, 5*time.Millisecond), "--duration=1h", "--concurrency=4", "--output-tokens=10",
		"--save-outputs", "--telemetry=spark="+exporter.URL, "--telemetry-interval=100ms")
	underWay(t, run)
	folder := folderOf(run)
	awaitLines(t, filepath.Join(folder, "outputs.jsonl")) // its clock is not that of the records
	awaitTelemetry(t, folder)
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed, and says so
	if counts, _ := statuses(t, folder); counts[openai.StatusOK] == 0 {
		t.Errorf("requests by status: %v", counts)
	}
	if got := state(t, folder); got != "running" {
		t.Errorf("state %s", got)
	}
	var phases struct{ Phases []struct{ Name string } }
	readJSON(t, filepath.Join(folder, "phases.json"), &phases)
	if len(phases.Phases) != 1 || phases.Phases[0].Name != "ready" {
		t.Errorf("phases that were over: %v", phases.Phases)
	}
	for _, name := range []string{"schedule.jsonl", "outputs.jsonl"} {
		expectLines(t, filepath.Join(folder, name))
	}
	expectNoRemains(t, folder)
}

// awaitTelemetry waits until samples are on the disk, and reads them as a killed run leaves them.
func awaitTelemetry(t *testing.T, folder string) {
	t.Helper()
	for {
		log, err := telemetry.Read(filepath.Join(folder, "telemetry.jsonl.gz"))
		if err == nil && len(log.Sources) > 0 && len(log.Sources[0].Samples) > 1 {
			if !log.Torn {
				t.Error("a file that is still written is not torn")
			}
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// expectLines checks that every line of a file but a torn last one is JSON.
func expectLines(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) {
			whole++
			if !json.Valid(line) {
				t.Errorf("%s, line %d: %s", path, whole, line)
			}
		}
	}
	if whole == 0 {
		t.Errorf("%s has no whole line", path)
	}
}
