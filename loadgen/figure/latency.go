package figure

import (
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/summary"
)

// Names of latencies that rules go by.
const (
	TimeToFirstToken     = "time_to_first_token_p50_seconds"
	TimeToFirstTokenP95  = "time_to_first_token_p95_seconds"
	TimeToFirstTokenP99  = "time_to_first_token_p99_seconds"
	TimeToFirstTokenSend = "time_to_first_token_send_p50_seconds"
	TimePerOutputToken   = "time_per_output_token_p50_seconds"
	RequestDuration      = "request_duration_p50_seconds"
	ChunkGapP50          = "chunk_gap_p50_seconds"
	ChunkGapP99          = "chunk_gap_p99_seconds"
)

// latency is a latency of requests on any clock.
type latency struct{ name, title, short string }

var (
	ttft       = latency{"time_to_first_token", "time to first token", "TTFT"}
	ttfo       = latency{"time_to_first_output", "time to first visible output", "TTFO"}
	tpot       = latency{"time_per_output_token", "time per output token", "TPOT"}
	chunkGap   = latency{"chunk_gap", "gap between chunks", ChunkGap}
	itl        = latency{"inter_token_latency", "inter-token latency", ITL}
	e2e        = latency{"request_duration", "request duration", "E2E"}
	queueDelay = latency{"queue_delay", "queue delay", "queue delay"}
	clientLag  = latency{"client_lag", "client lag", "client lag"}
)

// Short names of latencies that are one where every chunk has one token.
const ChunkGap, ITL = "chunk gap", "ITL"

// Clocks that a latency starts on; a latency between two arrivals has none.
const (
	FromSend     = "send"
	FromIntended = "intended start"
)

// Latency is a distribution of seconds over the requests of a run, by the clock that it starts on.
type Latency struct {
	latency
	From string
	// Of returns the distribution; nil where no request had the latency.
	Of func(*summary.Latency) *summary.Distribution
	// Series is the exported series; nil for none.
	Series *metric.Summary
	// Chart is the title of its chart over load; empty for a latency that runs are not shown by.
	Chart    string
	compared []string // statistics
	table    Column   // the begin of its columns in campaign.csv
}

// Short returns the short name of the latency, such as TTFT.
func (l Latency) Short() string { return l.short }

// Figure returns the name of the figure that is a statistic of the latency: mean, p50, p95 or p99.
func (l Latency) Figure(statistic string) string {
	name := l.name
	if l.From == FromSend {
		name += "_send"
	}
	return name + "_" + statistic + "_seconds"
}

// Latencies returns the latencies of a run, in the order of a request's life. TTFT and E2E are shown from the intended
// start, as the SLO counts: from the dispatch, a server with a backlog seems fast.
func Latencies() []Latency {
	send := func(of func(*summary.Latency) *summary.Clocks) func(*summary.Latency) *summary.Distribution {
		return func(l *summary.Latency) *summary.Distribution {
			if c := of(l); c != nil {
				return c.Send
			}
			return nil
		}
	}
	intended := func(of func(*summary.Latency) *summary.Clocks) func(*summary.Latency) *summary.Distribution {
		return func(l *summary.Latency) *summary.Distribution {
			if c := of(l); c != nil {
				return c.Intended
			}
			return nil
		}
	}
	first := func(l *summary.Latency) *summary.Clocks { return l.TTFT }
	visible := func(l *summary.Latency) *summary.Clocks { return l.TTFO }
	whole := func(l *summary.Latency) *summary.Clocks { return l.E2E }
	return []Latency{
		{ttft, FromSend, send(first), &metric.RunTimeToFirstTokenSeconds, "", []string{"p50"}, Column{100, "ttft"}},
		{ttft, FromIntended, intended(first), &metric.RunScheduledTimeToFirstTokenSeconds, "Time to first token, from the intended start", []string{"p50", "p95", "p99"}, Column{110, "scheduled_ttft"}},
		{ttfo, FromSend, send(visible), nil, "", nil, Column{}},
		{ttfo, FromIntended, intended(visible), nil, "", []string{"p50"}, Column{}},
		{tpot, "", send(func(l *summary.Latency) *summary.Clocks { return l.TPOT }), &metric.RunTimePerOutputTokenSeconds, "Time per output token", []string{"p50", "p95", "p99"}, Column{120, "tpot"}},
		{chunkGap, "", func(l *summary.Latency) *summary.Distribution {
			if l.ChunkGap == nil {
				return nil
			}
			return l.ChunkGap.Send
		}, nil, "", nil, Column{}},
		{itl, "", send(func(l *summary.Latency) *summary.Clocks { return l.ITL }), nil, "", []string{"p50", "p99"}, Column{130, "itl"}},
		{e2e, FromSend, send(whole), &metric.RunRequestDurationSeconds, "", []string{"p50"}, Column{140, "e2e"}},
		{e2e, FromIntended, intended(whole), &metric.RunScheduledRequestDurationSeconds, "Duration of a request, from the intended start", []string{"p50", "p95", "p99"}, Column{150, "scheduled_e2e"}},
		{queueDelay, "", func(l *summary.Latency) *summary.Distribution { return l.QueueDelay }, nil, "", []string{"p99"}, Column{160, "queue_delay"}},
		{clientLag, "", func(l *summary.Latency) *summary.Distribution { return l.ClientLag }, nil, "", nil, Column{170, "client_lag"}},
	}
}

// statistic is a statistic of a latency that is a figure, and where it is shown.
type statistic struct {
	name           string
	of             func(*summary.Distribution) *float64
	column, benchd bool
}

func statistics() []statistic {
	return []statistic{
		{"mean", mean, false, true},
		{"p50", func(d *summary.Distribution) *float64 { return d.P50 }, true, true},
		{"p95", func(d *summary.Distribution) *float64 { return d.P95 }, true, false},
		{"p99", func(d *summary.Distribution) *float64 { return d.P99 }, false, true},
	}
}

func mean(d *summary.Distribution) *float64 { return d.Mean }

// latencies returns a figure for each statistic of each latency: a percentile of a run is one value. In comparisons a
// latency from the intended start comes before the same from send.
func latencies() []Figure {
	all := Latencies()
	figures := make([][]Figure, len(all))
	for at, l := range all {
		for i, of := range statistics() {
			figures[at] = append(figures[at], l.figure(at, i, of))
		}
	}
	for at, l := range all {
		if l.From == FromSend {
			figures[at], figures[at+1] = figures[at+1], figures[at]
		}
	}
	return slices.Concat(figures...)
}

// figure returns the figure of a statistic.
func (l Latency) figure(at, i int, of statistic) Figure {
	distribution := func(s *summary.Summary) *summary.Distribution {
		if s.Latency == nil {
			return nil
		}
		return l.Of(s.Latency)
	}
	f := Figure{Name: l.Figure(of.name), Title: l.title + ", " + of.name, Unit: Seconds, Get: part(distribution, of.of),
		Doubt: part(distribution, func(d *summary.Distribution) *float64 { return d.Doubt(of.name) })}
	if l.From == FromSend {
		f.Title = l.title + " from send, " + of.name
	}
	if slices.Contains(l.compared, of.name) {
		f.Margin, f.Scale = f.Unit.margin()
	}
	if l.Chart != "" && of.column {
		f.Column = Column{10, l.short + " " + of.name}
	}
	if l.table.Heading != "" {
		f.Table = Column{l.table.Place + i, l.table.Heading + "_" + of.name + "_seconds"}
	}
	if of.benchd {
		name := l.short
		if l.From != "" {
			name += " from " + l.From
		}
		f.Bench = Column{100 + at, strings.ReplaceAll(strings.ToLower(name), " ", "-") + "-" + of.name + "-sec"}
	}
	return f
}
