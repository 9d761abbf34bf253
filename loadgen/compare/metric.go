package compare

import (
	"slices"

	"github.com/umascope/umascope/loadgen/figure"
)

// title returns the title of a metric; its name where the table does not have it.
func title(name string) string {
	if m, known := figure.FindCompared(name); known {
		return m.Title
	}
	return name
}

// DefaultPrimary returns the metric that decides in a scenario of run where none is named and every arm has it. For a
// recorded command it is a metric that the tool reports.
func DefaultPrimary(scenario string, recorded bool) string {
	if recorded {
		return figure.ToolOutputTokensPerSecond
	}
	return primaries(scenario)[0]
}

// primaries returns the metrics that can decide, by scenario: the first that all arms have decides. Where prompts
// repeat, the time to the first token shows the value of a cache. For any other scenario it is the throughput.
func primaries(scenario string) []string {
	throughput := []string{figure.OutputTokensPerSecond, figure.ToolOutputTokensPerSecond, figure.RequestsPerSecond, figure.ToolRequestsPerSecond}
	first := []string{figure.TimeToFirstToken, figure.TimeToFirstTokenSend}
	switch scenario {
	case "multi_turn", "eviction_replay", "reuse_verify", "rehydrate_replay":
		return append(first, throughput...)
	case "burst":
		return slices.Concat([]string{figure.TimeToFirstTokenP95}, first, throughput)
	default:
		return append(throughput, first...)
	}
}
