package report

import (
	"strconv"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// serverTable has a row for each server of a load that several shared; empty for a single server. A latency that no
// server has is left out, the end of an answer where there is a first token.
func serverTable(s summary.Summary) render.Table {
	if len(s.Servers) == 0 {
		return render.Table{}
	}
	latencies := serverLatencies(s.Latency)
	t := render.Table{Header: []string{"by server", "requests", "errors"}}
	for _, l := range latencies {
		t.Header = append(t.Header, l.name+" p50", l.name+" p99")
	}
	t.Header = append(t.Header, "output tokens per second", "share of tokens")
	for _, server := range s.Servers {
		total := 0
		for _, n := range server.Requests {
			total += n
		}
		row := []string{server.URL, strconv.Itoa(total), strconv.Itoa(total - server.Requests[openai.StatusOK])}
		for _, l := range latencies {
			var d summary.Distribution
			if found := l.of(server.Latency); found != nil {
				d = *found
			}
			row = append(row, format.Optional(d.P50, format.Seconds), format.Optional(d.P99, format.Seconds))
		}
		rate := server.Throughput.OutputTokensPerSecond
		t.Add(append(row, format.Optional(rate, format.Digits), format.Optional(shareOf(rate, s.Throughput.OutputTokensPerSecond), format.Ratio))...)
	}
	return t
}

// serverLatency is a latency of the table of servers.
type serverLatency struct {
	name string
	of   func(*summary.Latency) *summary.Distribution
}

// serverLatencies returns the latencies that the run has.
func serverLatencies(run *summary.Latency) []serverLatency {
	send := func(name string, clocks func(*summary.Latency) *summary.Clocks) serverLatency {
		return serverLatency{name, func(l *summary.Latency) *summary.Distribution {
			if l == nil || clocks(l) == nil {
				return nil
			}
			return clocks(l).Send
		}}
	}
	var known []serverLatency
	for _, l := range []serverLatency{
		send("TTFT", func(l *summary.Latency) *summary.Clocks { return l.TTFT }),
		send("TPOT", func(l *summary.Latency) *summary.Clocks { return l.TPOT }),
		send("E2E", func(l *summary.Latency) *summary.Clocks { return l.E2E }),
	} {
		if l.of(run) != nil && (l.name != "E2E" || len(known) == 0) {
			known = append(known, l)
		}
	}
	return known
}

// shareOf returns a part of a whole; nil where one of them is unknown.
func shareOf(part, whole *float64) *float64 {
	if part == nil || whole == nil || *whole <= 0 {
		return nil
	}
	return new(*part / *whole)
}

// serversNote has what the table does not show.
const serversNote = "Requests go to the servers in turn, the turns of a conversation to one of them. Tokens per second are over the time of the run, so that servers add up to it. What engines report of themselves (KV cache, speculative decoding, KV tiers) and the limit of memory are not observable with several servers; each page is in telemetry.jsonl.gz under a name of its own."
