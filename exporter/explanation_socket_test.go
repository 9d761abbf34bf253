package exporter

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
)

// loopback answers at addresses of this machine: pages by host:port/path, and 404 at other paths of these hosts.
type loopback map[string]string

func (l loopback) RoundTrip(r *http.Request) (*http.Response, error) {
	response := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody}
	if page, is := l[r.URL.Host+r.URL.Path]; is {
		response.StatusCode, response.Body = http.StatusOK, io.NopCloser(strings.NewReader(page))
		response.Header.Set("Content-Type", map[bool]string{true: "application/json", false: "text/plain"}[page[0] == '{'])
	}
	return response, nil
}

// withEngines is the small machine, live: process 7 is vLLM with a page and a socket for its own purposes, 9 llama.cpp
// without a page, and 10 calls itself TensorRT-LLM; process 8 is vLLM in a container that publishes no port.
func withEngines(t *testing.T) collector.Host {
	t.Helper()
	host := integratedHost(t, "vllm")
	host.Mode = collector.Live
	put(t, host.Cgroup, "box/cgroup.procs", []byte("7\n8\n9\n10\n"))
	for _, pid := range []string{"8", "9", "10"} {
		put(t, host.Proc, pid+"/comm", []byte("python3\n"))
		put(t, host.Proc, pid+"/cgroup", []byte("0::/box\n"))
	}
	for namespace, sockets := range map[string]string{"machine": "0100007F:1F40 70,0100007F:1F90 71,0100007F:2328 72,0100007F:A2C4 73", "container": "00000000:1F40 80"} {
		table := "  sl  local_address\n"
		for i, socket := range strings.Split(sockets, ",") {
			address, inode, _ := strings.Cut(socket, " ")
			table += fmt.Sprintf("%4d: %s 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 %s 1 0 100 0 0 10 0\n", i, address, inode)
		}
		put(t, host.Proc, namespace+"/tcp", []byte(table))
		put(t, host.Proc, namespace+"/fib_trie", []byte("|-- 127.0.0.1\n   /32 host LOCAL\n"))
	}
	for pid, inodes := range map[string][]int{"7": {70, 73}, "8": {80}, "9": {71}, "10": {72}} {
		put(t, host.Proc, pid+"/cmdline", []byte(map[string]string{"7": "vllm\x00serve\x00", "8": "vllm\x00serve\x00",
			"9": "llama-server\x00", "10": "trtllm-serve\x00m\x00--port=9000\x00"}[pid]))
		put(t, host.Proc, pid+"/stat", fmt.Appendf(nil, "%s (x) S 1 7 0 0 -1 4194560 0 0 0 0 1 1 0 0 20 0 1 0 1000%s\n", pid, strings.Repeat(" 0", 35)))
		relink(t, host.Proc, pid+"/net", cmp.Or(map[string]string{"8": "../container"}[pid], "../machine"))
		for _, inode := range inodes {
			relink(t, host.Proc, fmt.Sprintf("%s/fd/%d", pid, inode), fmt.Sprintf("socket:[%d]", inode))
		}
	}
	relink(t, host.Proc, "self/net", "../machine")
	host.Loopback = loopback{
		"127.0.0.1:8000/v1/models": `{"data":[{"id":"m","owned_by":"vllm"}]}`,
		"127.0.0.1:8000/metrics":   "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"m\"} 1\n",
		"127.0.0.1:8080/v1/models": `{"data":[{"id":"m","owned_by":"llamacpp"}]}`,
		"127.0.0.1:9000/v1/models": `{"title":"` + hostile + `"}`,
	}
	host.HTTP = host.Loopback
	return host
}

// TestDoctorListsWhatDiscoveryFound: an engine, one without a page, a socket that is none, and a container that cannot be
// reached; explain leaves out what is no engine.
func TestDoctorListsWhatDiscoveryFound(t *testing.T) {
	e := exporterOf(t, withEngines(t), Settings{})
	var doctor, explained bytes.Buffer
	must(t, e.Doctor(t.Context(), &doctor))
	must(t, e.Explain(t.Context(), &explained))
	const (
		vllm        = "127.0.0.1:8000 of x (pid 7): vllm, page 127.0.0.1:8000/metrics\n"
		llama       = "127.0.0.1:8080 of x (pid 9): llamacpp, no page: /metrics: answered with status 404; start llama-server with --metrics\n"
		other       = "127.0.0.1:9000 of x (pid 10): unknown: "
		internal    = "127.0.0.1:41668 of x (pid 7): not asked: not a port of a known server program; if it is an engine: --engine.url http://127.0.0.1:41668\n"
		unreachable = "0.0.0.0:8000 of x (pid 8): unreachable: "
	)
	wantIn(t, doctor.String(), "engine   ok", "         socket "+vllm, "         socket "+llama, "         socket "+other, "         socket "+internal, "         socket "+unreachable)
	wantIn(t, explained.String(), "\nEngines\n  "+vllm+"  "+llama+"  "+unreachable)
	wantNotIn(t, explained.String(), other, internal)
	checkTerminal(t, "doctor", doctor.String())
	wantIn(t, body(t, get(t, e.Handler(), "/metrics")),
		`uma_engine_info{engine="vllm",model="m",source="127.0.0.1:8000/metrics",version=""} 1`,
		`uma_engine_info{engine="llamacpp",model="",source="127.0.0.1:8080/v1/models",version=""} 1`)
	address := servedAt(t, e.Handler())
	wantIn(t, runHere(t, "explain", "--url="+address), "\nEngines\n  "+vllm+"  "+llama+"  "+unreachable)
	wantIn(t, runHere(t, "explain", "--json", "--url="+address), `"result": "no_page"`, `"engine": "llamacpp"`, `"page": "127.0.0.1:8000/metrics"`, `"result": "unknown"`)
}

func landingPage(t *testing.T, e *Exporter) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	e.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	return recorder.Body.String()
}

// TestTheLandingPageListsSockets shows them all, hostile ones as text.
func TestTheLandingPageListsSockets(t *testing.T) {
	page := landingPage(t, exporterOf(t, withEngines(t), Settings{}))
	wantIn(t, page, "<h2>Sockets of engines</h2>", "<td>127.0.0.1:8000</td>", "<td>found: vllm</td><td class=\"path\">127.0.0.1:8000/metrics</td>",
		"<td>no_page: llamacpp</td>", "start llama-server with --metrics", "<td>0.0.0.0:8000</td>", "<td>unreachable</td>", "<td>unknown</td>")
}
