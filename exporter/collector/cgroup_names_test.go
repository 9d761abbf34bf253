package collector

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
)

// runtimeAPI serves a Docker-compatible API at a socket and counts the questions.
func runtimeAPI(t *testing.T, serve http.HandlerFunc) (socket string, asked *atomic.Int32) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int32)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodGet || r.URL.Path != "/containers/json" {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		serve(w, r)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return socket, asked
}

func listOf(t *testing.T, list ...hostfs.ListedContainer) http.HandlerFunc {
	t.Helper()
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}
}

func infoOf(series map[string]float64, cgroup string) string {
	for name := range series {
		if strings.HasPrefix(name, "uma_cgroup_info{") && strings.Contains(name, `cgroup="`+cgroup+`"`) {
			return name
		}
	}
	return ""
}

func wantInfo(t *testing.T, series map[string]float64, cgroup string, pairs ...string) {
	t.Helper()
	info := infoOf(series, cgroup)
	for _, pair := range pairs {
		if !strings.Contains(info, pair) {
			t.Errorf("%s: %s lacks %s", cgroup, info, pair)
		}
	}
}

// namedRunner runs the collector on a Spark with two containers.
func namedRunner(t testing.TB, options CgroupOptions) *Runner {
	return NewRunner(dockerSpark(t), Options{Cgroups: options}, []Spec{cgroupSpec()}, RunnerSettings{})
}

// eventually makes pages until one is as it should be: a page waits for an answer, but not for ever.
func eventually(t *testing.T, runner *Runner, enough func(map[string]float64, Outcome) bool) map[string]float64 {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		scrape := mustScrape(t, runner, t.Context())
		series := gather(t, scrape)
		if enough(series, scrape.Outcomes[0]) {
			return series
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s, %v; %s", scrape.Outcomes[0].State, scrape.Outcomes[0].Err, infoOf(series, engineScope))
		}
	}
}

func isNamed(cgroup, name string) func(map[string]float64, Outcome) bool {
	return func(series map[string]float64, outcome Outcome) bool {
		return outcome.State == OK && strings.Contains(infoOf(series, cgroup), `container="`+name+`"`)
	}
}

func TestContainersAreNamedByTheRuntime(t *testing.T) {
	socket, asked := runtimeAPI(t, listOf(t,
		hostfs.ListedContainer{ID: engineID, Names: []string{"/vllm"}, Image: "vllm/vllm-openai:v0.11.0"},
		hostfs.ListedContainer{ID: idleID, Names: []string{"/k8s_ui_chat-0"}, Image: "chat:1", Labels: map[string]string{
			"io.kubernetes.pod.name": "chat-0", "io.kubernetes.pod.namespace": "chat", "io.kubernetes.container.name": "ui"}},
	))
	runner := namedRunner(t, CgroupOptions{RuntimeSocket: socket})
	for range 3 {
		series := eventually(t, runner, isNamed(engineScope, "vllm"))
		wantInfo(t, series, engineScope, `container="vllm"`, `image="vllm/vllm-openai:v0.11.0"`, `runtime="docker"`)
		wantInfo(t, series, idleScope, `container="ui"`, `pod="chat-0"`, `namespace="chat"`)
		wantInfo(t, series, "/system.slice", `container=""`)
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times for two containers", asked.Load())
	}
}

func TestARuntimeInTroubleCostsNamesOnly(t *testing.T) {
	forbidden, _ := runtimeAPI(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	garbage, _ := runtimeAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[{"Id":`))
	})
	elsewhere, _ := runtimeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	})
	for why, socket := range map[string]string{
		"status 403": forbidden, "unexpected end": garbage, "redirect": elsewhere, "no such file": filepath.Join(t.TempDir(), "none.sock"),
	} {
		series := eventually(t, namedRunner(t, CgroupOptions{RuntimeSocket: socket}), func(_ map[string]float64, outcome Outcome) bool {
			return outcome.State == Failed && strings.Contains(outcome.Reason(), why) && strings.Contains(outcome.Reason(), "--cgroup.runtime-socket "+socket)
		})
		wantInfo(t, series, engineScope, `container=""`, `container_id="`+engineID+`"`)
		wantSeries(t, series, map[string]float64{of("memory_current_bytes", engineScope): 9663676416})
	}
}

// TestARuntimeThatHangsHoldsNoPage: the answer comes while later pages are made.
func TestARuntimeThatHangsHoldsNoPage(t *testing.T) {
	answer := make(chan struct{})
	list := listOf(t, hostfs.ListedContainer{ID: engineID, Names: []string{"/vllm"}})
	socket, asked := runtimeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
			list(w, r)
		case <-r.Context().Done():
		}
	})
	runner := namedRunner(t, CgroupOptions{RuntimeSocket: socket})
	for range 3 {
		scrape := mustScrape(t, runner, t.Context())
		if outcome := scrape.Outcomes[0]; outcome.State != OK {
			t.Errorf("%s: %v", outcome.State, outcome.Err)
		}
		wantInfo(t, gather(t, scrape), engineScope, `container=""`)
	}
	if asked.Load() > 1 {
		t.Errorf("asked %d times at once", asked.Load())
	}
	close(answer)
	eventually(t, runner, isNamed(engineScope, "vllm"))
}

// TestAContainerThatTheRuntimeDoesNotKnowIsAskedForLessAndLess, and a new one at once.
func TestAContainerThatTheRuntimeDoesNotKnowIsAskedForLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		names := newRuntimeNames("/nowhere", time.Now)
		names.client.HTTP = roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
		})
		ask := func(ids ...string) {
			names.ask(ids)
			synctest.Wait()
			_ = names.answer()
		}
		for range 60 * 60 { // for an hour
			ask(engineID)
			time.Sleep(time.Second)
		}
		// After 0, 2, 6, 14, 30, 62, 126, 254 s, then every 300 s at most.
		if asked < 15 || asked > 20 {
			t.Errorf("asked %d times in an hour", asked)
		}
		before := asked
		ask(engineID, idleID)
		if asked != before+1 {
			t.Errorf("asked %d times for a new container", asked-before)
		}
		ask()
		if len(names.known)+len(names.unknown) != 0 {
			t.Errorf("containers that are gone are remembered: %v, %v", names.known, names.unknown)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestContainersAreNamedByAFileThatMayChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "names")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runner := namedRunner(t, CgroupOptions{NamesFile: file})
	collect := func(state State, why, name string) {
		t.Helper()
		scrape := mustScrape(t, runner, t.Context())
		if outcome := scrape.Outcomes[0]; outcome.State != state || !strings.Contains(outcome.Reason(), why) {
			t.Errorf("%s: %v", outcome.State, outcome.Err)
		}
		wantInfo(t, gather(t, scrape), engineScope, `container="`+name+`"`)
	}
	collect(Failed, "--cgroup.names-file "+file+": no such file", "")
	write(engineID + " vllm\n")
	collect(OK, "", "vllm")
	write(engineID + " sgla\n") // of the same size, within the same tick of the clock
	collect(OK, "", "sgla")
	write(engineID + "\n")
	collect(Failed, "line 1", "sgla") // what it said last stands
	write(`{"` + engineID[:12] + `": {"container": "trtllm", "pod": "llm-0"}}`)
	collect(OK, "", "trtllm")
	write("")
	collect(OK, "", "")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	collect(Failed, "no such file", "")
}

func TestTheFileGoesBeforeTheRuntimeWhichIsAskedForTheRest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(file, []byte(engineID+" mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	socket, _ := runtimeAPI(t, listOf(t, hostfs.ListedContainer{ID: engineID, Names: []string{"/vllm"}}, hostfs.ListedContainer{ID: idleID, Names: []string{"/ui"}}))
	series := eventually(t, namedRunner(t, CgroupOptions{NamesFile: file, RuntimeSocket: socket}), isNamed(idleScope, "ui"))
	wantInfo(t, series, engineScope, `container="mine"`)
}

func TestThePauseContainerOfAPodIsNotShownOnceItIsKnown(t *testing.T) {
	shown := []string{"/init.scope", "/system.slice", "/user.slice", "/user.slice/user-1000.slice/session-2.scope", engineScope}
	file := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(file, []byte(`{"`+idleID+`": {"container": "POD", "sandbox": true}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	series, _ := cgroupPage(t, dockerSpark(t), CgroupOptions{NamesFile: file})
	wantShown(t, series, shown...)
	wantSeries(t, series, map[string]float64{"uma_cgroup_excluded{}": 0})
	series, _ = cgroupPage(t, dockerSpark(t), CgroupOptions{NamesFile: file, Include: regexp.MustCompile(idleID)})
	wantShown(t, series, append(shown, idleScope)...)

	socket, asked := runtimeAPI(t, listOf(t, hostfs.ListedContainer{ID: engineID, Names: []string{"/vllm"}},
		hostfs.ListedContainer{ID: idleID, Labels: map[string]string{"io.kubernetes.docker.type": "podsandbox"}}))
	runner := namedRunner(t, CgroupOptions{RuntimeSocket: socket})
	eventually(t, runner, isNamed(engineScope, "vllm"))
	for range 3 {
		wantShown(t, gather(t, mustScrape(t, runner, t.Context())), shown...)
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

func TestHostileNamesCannotLeaveTheirLabel(t *testing.T) {
	socket, _ := runtimeAPI(t, listOf(t, hostfs.ListedContainer{ID: engineID, Names: []string{"/a\"} 1\n\x1b[31mb"}, Image: strings.Repeat("x", 300)}))
	series := eventually(t, namedRunner(t, CgroupOptions{RuntimeSocket: socket}), func(series map[string]float64, outcome Outcome) bool {
		return outcome.State == OK && strings.Contains(infoOf(series, engineScope), "xxx")
	})
	if info := infoOf(series, engineScope); strings.ContainsAny(info, "\n\x1b") || !strings.Contains(info, "\uFFFD[31mb") {
		t.Errorf("%q", info)
	}
}
