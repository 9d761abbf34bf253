package report

import (
	"io"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// reported is a summary as --format json prints it, with the figures of --metric. A figure that is missing is null.
type reported struct {
	summary.Summary
	Metrics map[string]*float64 `json:"metrics,omitempty"`
}

// JSON writes a summary as JSON, with its computed figures.
func JSON(w io.Writer, s summary.Summary) error { return openai.PrintJSON(w, newReported(s)) }

func newReported(s summary.Summary) reported {
	one := reported{Summary: s}
	for _, c := range s.Computed() {
		if one.Metrics == nil {
			one.Metrics = map[string]*float64{}
		}
		one.Metrics[c.Name] = c.Value
	}
	return one
}
