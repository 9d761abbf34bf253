package report

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/summary"
)

func TestGrowthOfMemoryIsShownWithItsInterval(t *testing.T) {
	const perMinute = float64(1<<20) / 60
	s := summary.Summary{Run: "r", Machines: []summary.Machine{{Origin: summary.Origin{Source: "spark", Mode: "live"}, Growth: []summary.Growth{
		{Quantity: "unattributed", Verdict: summary.Grows, Samples: 600, BytesPerSecond: new(60 * perMinute), CI95: &[2]float64{52 * perMinute, 68 * perMinute}, Least: new(2.04 * perMinute)},
		{Quantity: "gpu_held", Verdict: summary.GrowthNotObservable, Reason: "12 samples in 11 s are too few", Samples: 12},
	}}}}
	var text strings.Builder
	if err := Markdown(&text, s); err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(text.String()), " ")
	for _, row := range []string{"| unattributed | grows | 60 | 52 to 68 | 600 | 2.04 |", "| GPU-held | not observable: 12 samples in 11 s are too few | – | – | 12 | – |"} {
		if !strings.Contains(page, row) {
			t.Errorf("no %q in %s", row, text.String())
		}
	}
}
