package report

import (
	"strconv"

	"github.com/umascope/umascope/loadgen/figure"
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
		t.Header = append(t.Header, l.Short()+" p50", l.Short()+" p99")
	}
	t.Header = append(t.Header, "output tokens per second", "share of tokens")
	for _, server := range s.Servers {
		failed := summary.Failed(server.Requests)
		row := []string{server.URL, strconv.Itoa(failed + server.Requests[openai.StatusOK]), strconv.Itoa(failed)}
		for _, l := range latencies {
			var d summary.Distribution
			if server.Latency != nil && l.Of(server.Latency) != nil {
				d = *l.Of(server.Latency)
			}
			row = append(row, format.Optional(d.P50, format.Seconds), format.Optional(d.P99, format.Seconds))
		}
		rate := server.Throughput.OutputTokensPerSecond
		t.Add(append(row, format.Optional(rate, format.Digits), format.Optional(shareOf(rate, s.Throughput.OutputTokensPerSecond), format.Ratio))...)
	}
	return t
}

// serverLatencies returns the latencies of the table of servers that the run has: those that are exported, from send. The
// duration of a request is there only if nothing shorter is.
func serverLatencies(run *summary.Latency) []figure.Latency {
	var known []figure.Latency
	for _, l := range figure.Latencies() {
		if run == nil || l.Series == nil || l.From == figure.FromIntended || l.Of(run) == nil || l.Short() == "E2E" && len(known) > 0 {
			continue
		}
		known = append(known, l)
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
