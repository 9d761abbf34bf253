package runner

import (
	"io"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// sweepFigure is a number of a run's summary in the table; its name has the unit.
type sweepFigure struct {
	name string
	of   func(*summary.Summary) *float64
}

// sweepFigures returns the columns that every sweep has, in this fixed order, so that readers of sweep.csv find them by
// name. Latencies count from the moment of sending; those that begin with scheduled count from the intended start.
func sweepFigures() []sweepFigure {
	all := []sweepFigure{
		{"requests_ok", func(s *summary.Summary) *float64 { return countOf(s.Requests[openai.StatusOK]) }},
		{"requests_failed", failedRequests},
		{"error_ratio", func(s *summary.Summary) *float64 {
			ratio := SweepRun{SweepOutcome: SweepOutcome{Summary: s}}.errorRatio()
			return &ratio
		}},
		{"duration_seconds", func(s *summary.Summary) *float64 { return s.Throughput.DurationSeconds }},
		{"requests_per_second", func(s *summary.Summary) *float64 { return s.Throughput.RequestsPerSecond }},
		{"output_tokens_per_second", func(s *summary.Summary) *float64 { return s.Throughput.OutputTokensPerSecond }},
		{"input_tokens_per_second", func(s *summary.Summary) *float64 { return s.Throughput.InputTokensPerSecond }},
		{"steady_requests_per_second", steady(func(t summary.Throughput) *float64 { return t.RequestsPerSecond })},
		{"steady_output_tokens_per_second", steady(func(t summary.Throughput) *float64 { return t.OutputTokensPerSecond })},
		{"due_requests_per_second", backlogged(func(b *summary.Backlog) float64 { return b.DuePerSecond })},
		{"ended_requests_per_second", backlogged(func(b *summary.Backlog) float64 { return b.EndedPerSecond })},
		{"good_ratio", func(s *summary.Summary) *float64 {
			if s.Goodput == nil {
				return nil
			}
			return &s.Goodput.Ratio
		}},
		{"good_requests_per_second", func(s *summary.Summary) *float64 {
			if s.Goodput == nil {
				return nil
			}
			return s.Goodput.RequestsPerSecond
		}},
	}
	for _, l := range latencies() {
		all = append(all, l.figures()...)
	}
	return append(all,
		sweepFigure{"input_tokens_mean", func(s *summary.Summary) *float64 { return meanOf(s.Tokens.Input) }},
		sweepFigure{"output_tokens_mean", func(s *summary.Summary) *float64 { return meanOf(s.Tokens.Output) }},
		sweepFigure{"joules_per_output_token", func(s *summary.Summary) *float64 {
			_, perToken := s.EnergyOfAll()
			return perToken
		}})
}

func countOf(n int) *float64 {
	v := float64(n)
	return &v
}

func failedRequests(s *summary.Summary) *float64 {
	all := 0
	for _, n := range s.Requests {
		all += n
	}
	return countOf(all - s.Requests[openai.StatusOK])
}

func steady(of func(summary.Throughput) *float64) func(*summary.Summary) *float64 {
	return func(s *summary.Summary) *float64 {
		if s.SteadyState == nil {
			return nil
		}
		return of(s.SteadyState.Throughput)
	}
}

func backlogged(of func(*summary.Backlog) float64) func(*summary.Summary) *float64 {
	return func(s *summary.Summary) *float64 {
		if s.Backlog == nil {
			return nil
		}
		v := of(s.Backlog)
		return &v
	}
}

func meanOf(d *summary.Distribution) *float64 {
	if d == nil {
		return nil
	}
	return d.Mean
}

// latency is one of a summary's distributions of seconds.
type latency struct {
	name string
	of   func(*summary.Latency) *summary.Distribution
}

func latencies() []latency {
	clock := func(c *summary.Clocks, intended bool) *summary.Distribution {
		switch {
		case c == nil:
			return nil
		case intended:
			return c.Intended
		default:
			return c.Send
		}
	}
	return []latency{
		{"ttft", func(l *summary.Latency) *summary.Distribution { return clock(l.TTFT, false) }},
		{"scheduled_ttft", func(l *summary.Latency) *summary.Distribution { return clock(l.TTFT, true) }},
		{"tpot", func(l *summary.Latency) *summary.Distribution { return clock(l.TPOT, false) }},
		{"itl", func(l *summary.Latency) *summary.Distribution { return clock(l.ITL, false) }},
		{"e2e", func(l *summary.Latency) *summary.Distribution { return clock(l.E2E, false) }},
		{"scheduled_e2e", func(l *summary.Latency) *summary.Distribution { return clock(l.E2E, true) }},
		{"queue_delay", func(l *summary.Latency) *summary.Distribution { return l.QueueDelay }},
		{"client_lag", func(l *summary.Latency) *summary.Distribution { return l.ClientLag }},
	}
}

func (l latency) figures() []sweepFigure {
	var all []sweepFigure
	for _, part := range []struct {
		name string
		of   func(*summary.Distribution) *float64
	}{
		{"mean", meanOf},
		{"p50", func(d *summary.Distribution) *float64 { return d.P50 }},
		{"p95", func(d *summary.Distribution) *float64 { return d.P95 }},
		{"p99", func(d *summary.Distribution) *float64 { return d.P99 }},
	} {
		all = append(all, sweepFigure{l.name + "_" + part.name + "_seconds", func(s *summary.Summary) *float64 {
			if s.Latency == nil || l.of(s.Latency) == nil {
				return nil
			}
			return part.of(l.of(s.Latency))
		}})
	}
	return all
}

// CSV writes sweep.csv: a row for each run, in the order of measurement. Figures that a run lacks are empty.
func (r SweepResult) CSV(w io.Writer) error {
	header := []string{"point", "over", "value", "repeat", "run", "seed", "status", "invalid_reasons", "slo_met"}
	all := sweepFigures()
	for _, f := range all {
		header = append(header, f.name)
	}
	var rows [][]any
	for _, p := range r.Points {
		row := []any{p.Number, r.Over, p.Value, p.Repeat, p.Run, p.Seed, string(p.Status), p.reasons(), nil}
		if p.SLOMet != nil {
			row[len(row)-1] = *p.SLOMet
		}
		for _, f := range all {
			var cell any
			if v, known := p.Figures[f.name]; known {
				cell = v
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return render.CSV(w, render.Sheet{Name: "Sweep", Header: header, Rows: render.Rows(rows)})
}
