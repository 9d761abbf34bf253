package figure

import (
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/summary"
)

// reportedByTool returns the figures that a recorded command or an imported tool reports of its load, by its own
// definitions.
func reportedByTool() []Figure {
	one := func(name, title string, unit Unit, of spec.Quantity, statistic string) Figure {
		return Figure{Name: toolReported + name, Title: title + ", by the tool", Unit: unit,
			Get: func(s *summary.Summary) *float64 { return ToolReported(s, of, statistic) },
			By: func(s *summary.Summary) string {
				if s.Tool == nil {
					return ""
				}
				return s.Tool.Program
			}}
	}
	output := one("output_tokens_per_second", "output tokens per second", PerSecond, spec.OutputTokensPerSecond, "")
	output.Series, output.Column = &metric.RunToolReportedOutputTokensPerSecond, Column{60, "output tokens/s, by the tool"}
	requests := one("requests_per_second", "requests per second", PerSecond, spec.RequestsPerSecond, "")
	requests.Series, requests.Column = &metric.RunToolReportedRequestsPerSecond, Column{61, "requests/s, by the tool"}
	all := []Figure{
		output, requests,
		one("input_tokens_per_second", "input tokens per second", PerSecond, spec.InputTokensPerSecond, ""),
		one("total_tokens_per_second", "input and output tokens per second", PerSecond, spec.TotalTokensPerSecond, ""),
		one("output_tokens_per_second_per_user", "output tokens per second of a request", PerSecond, spec.UserTokensPerSecond, "mean"),
		one("output_tokens_per_second_per_gpu", "output tokens per second of a GPU", PerSecond, spec.GPUTokensPerSecond, ""),
		one("prefill_tokens_per_second", "prompt tokens per second until the first token", PerSecond, spec.PrefillTokensPerSecond, "mean"),
		one("decode_tokens_per_second", "output tokens per second after the first token", PerSecond, spec.DecodeTokensPerSecond, "mean"),
	}
	for i := range all[:4] {
		all[i].CountsLoad = true
	}
	for _, l := range []struct {
		latency
		of spec.Quantity
	}{{ttft, spec.TTFTSeconds}, {tpot, spec.TPOTSeconds}, {itl, spec.ITLSeconds}, {e2e, spec.E2ESeconds}} {
		for _, statistic := range []string{"mean", "p50", "p95", "p99"} {
			all = append(all, one(l.name+"_"+statistic+"_seconds", l.title+", "+statistic, Seconds, l.of, statistic))
		}
	}
	return append(all, one("duration_seconds", "duration of the benchmark", Seconds, spec.DurationSeconds, ""))
}

// ToolReported returns a figure of the tool of a run; nil where it is absent, or where the tool reports several parts,
// none of which is the whole run.
func ToolReported(s *summary.Summary, name spec.Quantity, statistic string) *float64 {
	if s.Tool == nil {
		return nil
	}
	for _, v := range s.Tool.Values {
		if first := s.Tool.Values[0].Of; v.Of != first && v.Of != "" && first != "" {
			return nil
		}
	}
	for _, v := range s.Tool.Values {
		if v.Name == name && v.Statistic == statistic {
			return &v.Value
		}
	}
	return nil
}
