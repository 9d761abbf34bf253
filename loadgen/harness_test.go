package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// serving serves a simulated engine until the test ends.
func serving(t testing.TB, config sim.Config) (engine *sim.Engine, url string) {
	t.Helper()
	engine, url, stop, err := sim.Serve(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return engine, url
}

// simulated serves a quick simulated engine, changed as the test wants it.
func simulated(t testing.TB, change func(*sim.Config)) (engine *sim.Engine, url string) {
	t.Helper()
	config := sim.Immediate(0)
	change(&config)
	return serving(t, config)
}

// engine serves a simulated engine; step is the time of a token.
func engine(t testing.TB, step time.Duration) string {
	t.Helper()
	_, url := simulated(t, func(c *sim.Config) { c.DecodeBase = step })
	return url
}

// inFront is a server in front of an engine. Its handler passes requests on to the engine, or answers them itself.
func inFront(t *testing.T, engine string, handle func(w http.ResponseWriter, r *http.Request, pass http.Handler)) string {
	t.Helper()
	target, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of clients that go away
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, proxy) }))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// listing is a server that lists one model of a name, and answers everything else by a handler.
func listing(t *testing.T, model string, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			_, _ = w.Write([]byte(`{"data":[{"id":"` + model + `"}]}`))
			return
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// streamed answers with one event of a stream, and its end.
func streamed(w http.ResponseWriter, event string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write([]byte("data: " + event + "\n\ndata: [DONE]\n\n"))
}

// uncontended switches off the rules that judge how promptly the client's machine runs: the one
// that runs the tests is shared, and may well find a whole answer waiting when it gets to read.
var uncontended = []string{"--validity=client_lag=off", "--validity=client_stall=off", "--validity=stream_buffered=off"}

// invoke runs the program with a run folder of its own.
func invoke(t *testing.T, ctx context.Context, args ...string) (code int, folder, stdout, stderr string) {
	t.Helper()
	out := t.TempDir()
	var printed, complained bytes.Buffer
	args = slices.Concat([]string{"run", "--out", out, "--run-id", "r1", "--web.listen-address", "127.0.0.1:0"}, uncontended, args)
	code = Run(ctx, args, &printed, &complained)
	return code, filepath.Join(out, "r1"), printed.String(), complained.String()
}

// completed is invoke for a run that has to end with exit code 0.
func completed(t *testing.T, args ...string) (folder, stdout, stderr string) {
	t.Helper()
	code, folder, stdout, stderr := invoke(t, t.Context(), args...)
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	return folder, stdout, stderr
}

// invokeVerb runs any verb.
func invokeVerb(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// succeeded is invokeVerb for a verb that has to end with exit code 0.
func succeeded(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := invokeVerb(t, args...)
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	return stdout, stderr
}

func read[T any](t *testing.T, path string) T {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if filepath.Base(path) == rundir.SummaryFile {
		computedAgain(t, filepath.Dir(path), text)
	}
	return value
}

// computedAgain computes the summary of a run from the other files of its folder: it is the one that was written.
func computedAgain(t *testing.T, dir string, written []byte) {
	t.Helper()
	made := rundir.Folder(t.TempDir())
	r, err := summary.Compute(dir, supported.Engines())
	if errors.Is(err, summary.ErrShare) { // of a rank, only Write computes it
		r, err = summary.Write(dir, supported.Engines())
	}
	if err == nil {
		err = made.WriteJSON(rundir.SummaryFile, r.Summary)
	}
	if err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(made.Path(rundir.SummaryFile)); err != nil || !bytes.Equal(again, written) {
		t.Errorf("%s: computed again the summary is another one: %v\n%s\nwas\n%s", dir, err, again, written)
	}
}

func summaryOf(t *testing.T, dir string) summary.Summary {
	t.Helper()
	return read[summary.Summary](t, filepath.Join(dir, rundir.SummaryFile))
}

func manifestOf(t *testing.T, dir string) rundir.Manifest {
	t.Helper()
	return read[rundir.Manifest](t, filepath.Join(dir, rundir.ManifestFile))
}

func records(t *testing.T, dir string) []openai.Record {
	t.Helper()
	var all []openai.Record
	for r, err := range summary.Records(filepath.Join(dir, rundir.RequestsFile)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func text(t *testing.T, parts ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func overwrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// await polls until a condition holds that another goroutine brings about.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	for ctx := t.Context(); !condition(); time.Sleep(10 * time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("it never came about")
		}
	}
}

// lockedBuffer is a writer that one goroutine fills while another reads.
type lockedBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}

// expectFiles checks that files of a folder exist and are not empty.
func expectFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
