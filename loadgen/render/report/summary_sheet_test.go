package report

import (
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// A spreadsheet cannot add, sort or draw "121.5 GiB": figures are numbers, with the unit in a cell of its own.
func TestHeadlinesOfWorkbooksAreNumbersWithUnits(t *testing.T) {
	live := summary.Origin{Source: "spark", Mode: "live"}
	s := summary.Summary{
		Run: "r", Scenario: "standard", Requests: map[openai.Status]int{openai.StatusOK: 28, openai.StatusTimeout: 2},
		Throughput: summary.Throughput{RequestsPerSecond: new(24.5), DurationSeconds: new(90.25)},
		SLO:        &summary.SLOResult{SLO: "e2e=1s", Ratio: 0.75, Requests: 30},
		Memory:     &summary.Memory{Origin: live, Pool: new(64. * (1 << 30)), UnavailablePeak: new(48. * (1 << 30))},
		KV:         &summary.KV{CapacityTokens: new(2048.), Source: "its page"},
		Thermal:    &summary.Thermal{Origin: live, MaxCelsius: new(59.5)},
		Energy:     &summary.Energy{Origin: summary.Origin{Source: "spark", Mode: "simulated"}, Joules: 12345},
	}
	want := map[string][]any{
		"requests":                 {28., "ok", "2 timeout"},
		"requests per second":      {24.5, "1/s", ""},
		"measured for":             {90.25, "s", ""},
		"within e2e=1s":            {75., "%", "of 30 requests, not met"},
		"KV cache, tokens":         {2048., "tokens", "by its page"},
		"GPU temperature, highest": {59.5, "°C", ""},
		"energy":                   {12345., "J", "simulated"},
		"least available":          {"unavailable", 48., 75.},
		"all moments":              {"pool", 64., 100.},
	}
	for row, err := range SummarySheet(s).Rows {
		if err != nil {
			t.Fatal(err)
		}
		if len(row) == 0 {
			continue
		}
		name, _ := row[0].(string)
		cells, asked := want[name]
		if !asked {
			continue
		}
		delete(want, name)
		for i, cell := range cells {
			if len(row) != len(cells)+1 || row[i+1] != cell {
				t.Errorf("%q: %#v, not %#v", name, row[1:], cells)
				break
			}
		}
	}
	for name := range want {
		t.Errorf("no row %q", name)
	}
}
