//go:build proof

package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/cmd/internal/demo"
	"github.com/umascope/umascope/cmd/internal/view"
	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/loadgen"
)

const (
	eachKind = 20  // hostile requests of a kind
	crowd    = 300 // connections that are held at once: more than the pages of uma-load have room for
	// grown is what the heap may be larger after a kind than before the first, in bytes. What each request left behind
	// would be seen: a request has up to 1 MiB.
	grown = 12 << 20
	// patience is for a machine that is busy; nothing is judged by it but that an answer comes at all.
	patience = time.Minute
)

// listening is what a listener is attacked by, and asked by its scraper.
type listening struct {
	at, path string
	end      func()
	busy     bool // its program works while it is attacked, so that its heap is its own matter
}

// listeners are all that the programs serve, by name.
func listeners() map[string]func(t *testing.T) listening {
	run := func(t *testing.T, dir string) []string {
		return []string{"--url=" + engine(t, false), "--requests=4", "--warmup=0", "--input-tokens=300", "--output-tokens=4", "--out=" + dir, "--web.listen-address=127.0.0.1:0", "--web.linger=10m"}
	}
	load := func(t *testing.T, want string, args ...string) listening {
		at, end := serving(t, func(ctx context.Context, out io.Writer) int { return loadgen.Run(ctx, args, out, out) }, want)
		return listening{at: at, path: "/metrics", end: end}
	}
	const stays = `(?s)live=http://(\S+)/metrics.*live metrics stay`
	return map[string]func(t *testing.T) listening{
		"uma-exporter": func(t *testing.T) listening {
			at, end := serving(t, func(ctx context.Context, out io.Writer) int {
				return exporter.Run(ctx, []string{"--web.listen-address=127.0.0.1:0", "--no-collector.gpu"}, out, out)
			}, `serving http://(\S+)/metrics`)
			return listening{at: at, path: "/metrics", end: end}
		},
		"uma-load run": func(t *testing.T) listening {
			return load(t, stays, append([]string{"run"}, run(t, t.TempDir())...)...)
		},
		"uma-load campaign": func(t *testing.T) listening {
			url, dir := engine(t, false), t.TempDir()
			plan := file(t, dir, "plan.yaml", fmt.Sprintf(`{schema: umascope.plan/1, name: planned, iterations: 1, models: [{name: m}],
  arms: [{name: x, processes: [{name: engine, argv: [sh, -c, "echo is up; exec sleep 600"], ready: {timeout: 10s, log: is up}}]}],
  scenarios: [{name: short, run: {requests: 4}}], flags: {url: %q, warmup: 0, input-tokens: 300, output-tokens: 4},
  gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}}`, url), 0o600)
			return load(t, stays, "campaign", "run", plan, "--out="+dir, "--web.listen-address=127.0.0.1:0", "--web.linger=10m")
		},
		"uma-load serve": func(t *testing.T) listening {
			return load(t, `url=http://(\S+)/metrics`, "serve", "--runs="+t.TempDir(), "--web.listen-address=127.0.0.1:0")
		},
		"uma-view": func(t *testing.T) listening {
			at, end := serving(t, func(ctx context.Context, out io.Writer) int {
				return view.Run(ctx, []string{"--web.listen-address=127.0.0.1:0", "--data=" + t.TempDir(), "--runs=" + t.TempDir(), "--exporter=" + page(t) + "/metrics"}, out, out)
			}, `uma-view on http://([^\s;]+)`)
			return listening{at: at, path: "/api/v1/status/buildinfo", end: end, busy: true}
		},
		"uma-demo simulate": func(t *testing.T) listening {
			const free = "listen-address=127.0.0.1:0"
			at, end := serving(t, func(ctx context.Context, out io.Writer) int {
				return demo.Program{Stdout: out, Stderr: out, Load: loadgen.Run}.Run(ctx, []string{
					"simulate", "--exporter." + free, "--load." + free, "--engine." + free, "--kvbm." + free, "--every=1h", "--runs=" + t.TempDir(),
				})
			}, `exporter=http://(\S+)/metrics`)
			return listening{at: at, path: "/metrics", end: end, busy: true}
		},
	}
}

// TestNoListenerIsHarmedByHostileRequests sends requests of every kind to every listener. After each kind a scrape is
// answered, and no connection and no memory is left.
func TestNoListenerIsHarmedByHostileRequests(t *testing.T) {
	all := listeners()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			l := all[name](t)
			defer l.end()
			l.mustAnswer(t, "before")
			before := heap()
			for _, k := range kinds() {
				counts := l.attack(t, k)
				t.Logf("| %s | %s | %s |", name, k.name, statuses(counts, k.want))
				for status, n := range counts {
					if !slices.Contains(k.want, status) {
						t.Errorf("%s: %d answers of %d, want %v", k.name, n, status, k.want)
					}
				}
				l.mustAnswer(t, "after "+k.name)
				l.mustBeLeft(t, k.name)
				if after := heap(); !l.busy && after > before+grown {
					t.Errorf("after %s the heap has %d MiB, before %d MiB", k.name, after>>20, before>>20)
				}
			}
		})
	}
}

// attack sends requests of a kind and counts their answers by status.
func (l listening) attack(t *testing.T, k kind) map[int]int {
	t.Helper()
	counts, requests := map[int]int{}, eachKind
	if k.held {
		requests = crowd
	}
	for i := range requests {
		conn, err := net.Dial("tcp", l.at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		request := strings.NewReplacer("AT", l.at, "PATH", l.path).Replace(k.request(i))
		if k.held || k.unread {
			_, _ = io.WriteString(conn, request) // it may have been closed to make room
			counts[0]++
			if !k.held {
				conn.Close()
			}
			continue
		}
		counts[l.ask(t, conn, k.name, request)]++
		conn.Close()
	}
	if k.held {
		l.mustAnswer(t, "during "+k.name)
	}
	return counts
}

// ask sends a request and returns the status of its answer, 0 if there is none.
func (l listening) ask(t *testing.T, conn net.Conn, kind, request string) int {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	go io.WriteString(conn, request)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		if late, is := err.(net.Error); is && late.Timeout() {
			t.Errorf("%s: no answer, and the connection is kept", kind)
		}
		return 0
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	switch {
	case strings.Contains(string(text), "root:"):
		t.Errorf("%s: a file of the machine is served: %.200s", kind, text)
	case response.Header.Get("Access-Control-Allow-Origin") != "":
		t.Errorf("%s: other sites may read it", kind)
	case len(text) >= 64<<20:
		t.Errorf("%s: the answer has no end", kind)
	case err == nil && response.StatusCode == http.StatusForbidden && kind != "POST of another site" && (strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), "--web.allow-host ")):
		t.Errorf("%s: %q does not name the flag in one line", kind, text)
	}
	return response.StatusCode
}

// mustAnswer asks as a scraper does.
func (l listening) mustAnswer(t *testing.T, when string) {
	t.Helper()
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + l.at + l.path)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK || len(text) == 0 && l.path == "/" {
		t.Fatalf("%s: %s, %d bytes, %v", when, response.Status, len(text), err)
	}
}

// mustBeLeft waits until the listener has no connection of ours.
func (l listening) mustBeLeft(t *testing.T, kind string) {
	t.Helper()
	stacks := make([]byte, 8<<20)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for _, one := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(one, "net/http.(*conn).serve") {
				left++
			}
		}
		if left == 0 || l.busy && left < eachKind {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("after %s %d connections are left", kind, left)
		}
	}
}

// heap is what is in use after a collection, in bytes.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
