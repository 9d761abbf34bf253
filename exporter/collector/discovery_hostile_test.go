package collector

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/metric"
)

// stranger serves one connection, after the first request on it has been read.
type stranger func(conn net.Conn, path string)

// says answers every request with these bytes.
func says(answer string) stranger {
	return func(conn net.Conn, _ string) { io.WriteString(conn, answer) }
}

// serves answers by path; what is not served is 404.
func serves(pages map[string]string) stranger {
	return func(conn net.Conn, path string) {
		body, served := pages[path]
		status, kind := "200 OK", "text/plain; version=0.0.4"
		if !served {
			status = "404 Not Found"
		} else if strings.HasPrefix(body, "{") {
			kind = "application/json"
		}
		fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, kind, len(body), body)
	}
}

// repeats writes the head and then the same text until the other side has enough.
func repeats(head, text string, pause time.Duration) stranger {
	return func(conn net.Conn, _ string) {
		_, err := io.WriteString(conn, head)
		for err == nil {
			time.Sleep(pause)
			_, err = io.WriteString(conn, text)
		}
	}
}

func compressedZeros(bytesOfThem int) string {
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	io.CopyN(writer, zeros{}, int64(bytesOfThem))
	writer.Close()
	return compressed.String()
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { clear(into); return len(into), nil }

const okJSON = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

// strangers are listeners that no engine is, by port, with part of the reason that is reported.
func strangers() map[int]struct {
	does   stranger
	reason string
} {
	bomb := compressedZeros(64 << 20)
	var series strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&series, "vllm:x%d 1\n", i)
	}
	return map[int]struct {
		does   stranger
		reason string
	}{
		2001: {func(conn net.Conn, _ string) { io.Copy(io.Discard, conn) }, "not answered in time"},
		2002: {repeats(okJSON+"Content-Length: 900000\r\n\r\n", "[", time.Second), "answer ended"},
		2003: {repeats(okJSON+"\r\n", strings.Repeat("[", 4096), 0), "more than 8388608 bytes"},
		2004: {says(okJSON + "Content-Encoding: gzip\r\nContent-Length: " + fmt.Sprint(len(bomb)) + "\r\n\r\n" + bomb), "more than 8388608 bytes"},
		2005: {says("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n"), "status 302"},
		2006: {repeats("HTTP/1.1 200 OK\r\n", "X-Filler: "+strings.Repeat("x", 1000)+"\r\n", 0), "exceeded"},
		2007: {says("hello\n"), "malformed HTTP"},
		2026: {says(strings.Repeat("\x1b", 60_000) + "\r\n"), "malformed HTTP"},
		2008: {says("\x15\x03\x01\x00\x02\x02\x46"), "malformed HTTP"},
		2009: {says("SSH-2.0-OpenSSH_9.6\r\n"), "malformed HTTP"},
		2010: {func(net.Conn, string) {}, "EOF"},
		2011: {says("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"), "status 500"},
		2012: {says("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"), "no answer of one"},
		2013: {serves(map[string]string{"/metrics": "# TYPE node_load1 gauge\nnode_load1 0.5\n"}), "not the page of a known engine"},
		2014: {serves(map[string]string{"/metrics": "uma_engine_up{source=\"127.0.0.1:8000/metrics\"} 0\numa_memory_pool_bytes 1\n"}), "not the page of a known engine"},
		2015: {serves(map[string]string{"/metrics": "a{b=\"1\"} 1\na{b=\"1\"} 2\n# TYPE a counter\n"}), "no page of metrics"},
		2016: {serves(map[string]string{"/metrics": series.String()}), "more than 50000 series"},
		2017: {says(okJSON + "Content-Length: 1000000000000\r\n\r\n"), "answers with 1000000000000 bytes"},
		2018: {says(okJSON + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"dat\r\nxyz\r\n"), "answer ended"},
		2019: {repeats("", "HTTP/1.1 103 Early Hints\r\n\r\n", 0), "exceeded 65536 bytes"},
		2020: {says("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"), "status 401"},
		2021: {says(okJSON + "Content-Length: 20000\r\n\r\n" + strings.Repeat("[", 20000)), "no answer of one"},
		2022: {serves(map[string]string{"/v1/models": `{"data":[{"owned_by":"vllm"}]}`, "/metrics": "<html>"}), "no page of metrics"},
		2023: {serves(map[string]string{"/v1/models": `{"data":[{"owned_by":"\u001b[2J"}]}`}), `the owner of its models is "\x1b[2J"`},
		2024: {serves(map[string]string{"/version": `{"version":"1.3"}`, "/metrics": "[]"}), "/version is no answer of one"},
		2025: {serves(map[string]string{"/v1/models": `{"data":[{"owned_by":"tensorrt_llm"}]}`, "/metrics": "[]"}), "set return_perf_metrics"},
	}
}

// network is loopback without a kernel, in the time of a test. It fails the test on connections to anything else, and
// counts requests by port and path.
type network struct {
	t       *testing.T
	servers map[string]stranger // by address

	mu    sync.Mutex
	asked map[string]int
}

func (n *network) transport() *http.Transport {
	transport := engine.LoopbackTransport()
	transport.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
		does, known := n.servers[address]
		if !known {
			n.t.Errorf("connects to %s", address)
			return nil, io.ErrUnexpectedEOF
		}
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			request, err := http.ReadRequest(bufio.NewReader(theirs))
			if err != nil {
				return
			}
			n.count(request)
			does(theirs, request.URL.Path)
		}()
		return ours, nil
	}
	return transport
}

func (n *network) count(r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.Method != http.MethodGet || r.Header.Get("Authorization") != "" {
		n.t.Errorf("%s %s%s, authorization %q", r.Method, r.Host, r.URL, r.Header.Get("Authorization"))
	}
	n.asked[r.Host+r.URL.Path]++
}

// internalSockets is the number of sockets that an engine has for its own purposes in a test.
const internalSockets = 100

// TestHostileListenersAndAnEngine runs servers of every kind beside an engine, whose processes call themselves server
// programs, and gives the engine's process a hundred listeners that are none: the network fails the test on a connection to one.
func TestHostileListenersAndAnEngine(t *testing.T) {
	all := strangers()
	synctest.Test(t, func(t *testing.T) {
		n := &network{t: t, asked: map[string]int{}, servers: map[string]stranger{
			"127.0.0.1:8000": serves(map[string]string{"/v1/models": vllmModels, "/metrics": vllmPage, "/version": `{"version":"0.12.0"}`}),
		}}
		engineProcess := machineProcess{pid: 6330, group: 6330, comm: "vllm", sockets: []int{8000}, arguments: vllmServe}
		listeners := []listening{{"", "0100007F:1F40", 0, 8000}}
		processes := []machineProcess{}
		for port, one := range all {
			n.servers[fmt.Sprintf("127.0.0.1:%d", port)] = one.does
			processes = append(processes, machineProcess{pid: uint32(port), group: 6330, comm: "llama-server", sockets: []int{port},
				arguments: fmt.Sprintf("llama-server\x00--port\x00%d\x00", port)})
			listeners = append(listeners, listening{"", fmt.Sprintf("0100007F:%04X", port), 0, port})
		}
		for port := 40_000; port < 40_000+internalSockets; port++ {
			engineProcess.sockets = append(engineProcess.sockets, port)
			listeners = append(listeners, listening{"", fmt.Sprintf("0100007F:%04X", port), 0, port})
		}
		host := discoveryHost(t, n.transport())
		host.Proc = onDisk(t, machineProc(append(processes, engineProcess), listeners...))
		runner := NewRunner(host, Options{Sources: SourceOptions{Known: supported.Engines()}}, []Spec{engineSpec(), kvbmSpec()}, RunnerSettings{})
		var sockets []EngineSocket
		for range 5 {
			sockets = mustScrape(t, runner, t.Context()).Outcomes[0].Sample.EngineSockets()
			time.Sleep(time.Minute) // longer than all questions together
			synctest.Wait()
		}
		last := mustScrape(t, runner, t.Context())
		series := gather(t, last)
		for _, one := range slices.Concat(sockets, last.Outcomes[0].Sample.EngineSockets()) {
			port := int(one.Address.Port())
			if port >= 40_000 {
				if one.Result != metric.DiscoveryNotAsked {
					t.Errorf("%+v", one)
				}
			} else if port == 8000 {
				if one.Result != metric.DiscoveryFound {
					t.Errorf("the engine: %+v", one)
				}
			} else if one.Source != "" || !strings.Contains(one.Reason, all[port].reason) || !strings.Contains(one.Reason, "asked 3 times") || len(one.Reason) > 400 {
				t.Errorf("port %d: %+v; want %q", port, one, all[port].reason)
			}
		}
		wantSeries(t, series, map[string]float64{
			`uma_engine_up{source="127.0.0.1:8000/metrics"}`: 1, `uma_engine_discovery_sockets{result="found"}`: 1,
			`uma_engine_discovery_sockets{result="not_asked"}`:   internalSockets,
			`uma_collector_state{collector="engine",state="ok"}`: 1, `uma_collector_state{collector="kvbm",state="absent"}`: 1,
		})
		wantAbsent(t, series, `uma_engine_up{source="127.0.0.1:2`, "uma_memory_pool_bytes")
		n.checkQuestions(len(all))
	})
}

// checkQuestions holds that each stranger got each question three times at most, and only questions that change nothing.
func (n *network) checkQuestions(strangers int) {
	hosts := map[string]bool{}
	for asked, times := range n.asked {
		host, path, _ := strings.Cut(asked, "/")
		hosts[host] = true
		if !slices.Contains([]string{"v1/models", "version", "openapi.json", "metrics", "prometheus/metrics"}, path) {
			n.t.Errorf("asked for %s", asked)
		}
		if host != "127.0.0.1:8000" && times > discoveryTries {
			n.t.Errorf("asked for %s %d times", asked, times)
		}
	}
	if n.asked["127.0.0.1:2024/metrics"]+n.asked["127.0.0.1:2025/metrics"] > 0 {
		n.t.Error("took statistics that TensorRT-LLM gives to one reader only")
	}
	if len(hosts) != strangers+1 {
		n.t.Errorf("asked %d listeners of %d", len(hosts), strangers+1)
	}
}
