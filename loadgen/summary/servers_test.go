package summary

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

const serverA, serverB = "http://spark-1:8000", "http://spark-2:8000"

// shared are requests that went in turn to the servers, the answers of the second twice as late.
func shared(n int, servers ...string) []openai.Record {
	var records []openai.Record
	for i := range n {
		r := testrun.Answered(i, int64(i)*300, 100, 120, 140, 160, 180, 200, 220, 240)
		if i%len(servers) == 1 {
			r = testrun.Answered(i, int64(i)*300, 200, 240, 280, 320)
		}
		r.Server = servers[i%len(servers)]
		records = append(records, r)
	}
	return records
}

func TestEachServerHasTheFiguresOfItsRequests(t *testing.T) {
	in := input(t)
	in.Servers = []string{serverA, serverB}
	records := shared(40, in.Servers...)
	records[3].Status, records[3].Error = openai.StatusConnect, "connection refused"
	warmup := testrun.Answered(0, 0, 900, 950)
	warmup.Phase, warmup.Server = "warmup", serverA
	s := summarize(t, in, append(records, warmup)...)
	if len(s.Servers) != 2 {
		t.Fatalf("%+v", s.Servers)
	}
	requests, perSecond, tokens := 0, 0.0, 0.0
	for i, of := range s.Servers {
		want := []struct {
			url         string
			ok, failed  int
			first, tpot float64
		}{{serverA, 20, 0, 0.1, 0.02}, {serverB, 19, 1, 0.2, 0.04}}[i]
		if of.URL != want.url || of.Requests[openai.StatusOK] != want.ok || of.Requests[openai.StatusConnect] != want.failed ||
			!near(of.Latency.TTFT.Send.P50, want.first) || !near(of.Latency.TPOT.Send.Max, want.tpot) || of.Latency.TTFT.Send.N != want.ok {
			t.Errorf("%+v, want %+v", of, want)
		}
		requests += of.Latency.E2E.Send.N
		perSecond += *of.Throughput.RequestsPerSecond
		tokens += *of.Throughput.OutputTokensPerSecond
	}
	if requests != s.Latency.E2E.Send.N || !near(s.Throughput.RequestsPerSecond, perSecond) || !near(s.Throughput.OutputTokensPerSecond, tokens) {
		t.Errorf("%d requests, %v and %v tokens a second together; the run has %+v", requests, perSecond, tokens, s.Throughput)
	}
	if i := slices.IndexFunc(s.InvalidReasons, func(r Reason) bool { return r.Code == CodeErrorRate }); i < 0 || !strings.HasSuffix(s.InvalidReasons[i].Detail, "by server: "+serverA+" 0 of 20, "+serverB+" 1 of 20") {
		t.Errorf("%+v", s.InvalidReasons)
	}
}

// TestWhatOneEngineReportsIsNoFigureOfSeveral: the pages of one of two servers are seen by the exporters.
func TestWhatOneEngineReportsIsNoFigureOfSeveral(t *testing.T) {
	page := testrun.Page{Extra: kvPages, Per: func(at float64) string {
		return line(metric.EngineSpecDraftTokensTotal, fmt.Sprint(100*at), "source", "127.0.0.1:8000/metrics", "model", "m") +
			line(metric.EngineSpecAcceptedTokensTotal, fmt.Sprint(40*at), "source", "127.0.0.1:8000/metrics", "model", "m", "position", "0")
	}}
	in := machine(t, page)
	one := summarize(t, in, testrun.Steady(40)...)
	if one.KV == nil || one.Memory.OccupiedWithoutKV == nil || one.Speculation == nil || one.Decode == nil || len(one.Decode.HeldBack) == 0 || one.Energy.JoulesPerOutputToken == nil {
		t.Fatalf("of one server: KV cache %v, drafts %v, decoding %+v, energy %+v", one.KV, one.Speculation, one.Decode, one.Energy)
	}
	in.Servers = []string{serverA, serverB}
	s := summarize(t, in, shared(40, in.Servers...)...)
	if s.KV != nil || s.Machines[0].KV != nil || s.Memory.OccupiedWithoutKV != nil || s.Speculation != nil {
		t.Errorf("KV cache %v, occupied without it %v, drafts %v", s.KV, s.Memory.OccupiedWithoutKV, s.Speculation)
	}
	if s.Decode == nil || s.Decode.HeldBack != nil || s.Decode.Limit != nil || s.Decode.LimitUnknown != severalLimit {
		t.Errorf("decoding %+v", s.Decode)
	}
	if d := s.WithLimit(one.Decode.Model, 273e9).Decode; d.Limit != nil || d.LimitUnknown != severalLimit {
		t.Errorf("with a limit that is given: %+v", d)
	}
	// The energy is that of a machine, and tokens came from two.
	if s.Energy == nil || s.Energy.Joules != one.Energy.Joules || s.Energy.JoulesPerOutputToken != nil {
		t.Errorf("energy %+v", s.Energy)
	}
	in.Servers = []string{"http://127.0.0.1:8000", "http://localhost:8001"}
	if s := summarize(t, in, shared(40, in.Servers...)...); s.Energy.JoulesPerOutputToken == nil {
		t.Error("both servers are on the machine that was measured, and its energy per token is not known")
	}
}

func TestTheEnergyOfATokenNeedsTheMachinesOfAllServers(t *testing.T) {
	in := two(t, testrun.Linked(), testrun.Linked())
	in.Servers = []string{serverA, serverB}
	if s := summarize(t, in, shared(40, in.Servers...)...); s.Together == nil || s.Together.JoulesPerOutputToken == nil {
		t.Errorf("%+v", s.Together)
	}
	in.Servers = append(in.Servers, "http://spark-3:8000")
	if s := summarize(t, in, shared(42, in.Servers...)...); s.Together == nil || s.Together.Joules == nil || s.Together.JoulesPerOutputToken != nil {
		t.Errorf("%+v", s.Together)
	}
}

// TestTheEnginesOfOneMachineAreNotForeignToEachOther: which of them is foreign to the run is not known.
func TestTheEnginesOfOneMachineAreNotForeignToEachOther(t *testing.T) {
	in := machine(t, testrun.Page{Extra: fmt.Sprintf("uma_gpu_process_memory_bytes{uuid=\"GPU-1\",pid=\"1\",comm=\"engine\",cgroup=\"/a\"} %g\numa_gpu_process_memory_bytes{uuid=\"GPU-1\",pid=\"2\",comm=\"engine\",cgroup=\"/b\"} %g\n", 30*testrun.GiB, 20*testrun.GiB)})
	in.Servers = []string{"http://127.0.0.1:8000", "http://127.0.0.1:8001"}
	if s := summarize(t, in, shared(40, in.Servers...)...); !s.Valid || slices.Contains(s.Checked, "gpu_processes") {
		t.Errorf("%v, checked %v", s.InvalidReasons, s.Checked)
	}
	in.Servers = []string{serverA, serverB} // one engine a machine
	if s := summarize(t, in, shared(40, in.Servers...)...); !slices.Equal(codes(s), []Code{CodeForeignGPUProcess}) {
		t.Errorf("%v", s.InvalidReasons)
	}
}
