package comparison

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
)

func TestAComparisonHasTheDatesAndVersionsOfItsRuns(t *testing.T) {
	at := func(minute int) compare.RunRef {
		return compare.RunRef{Run: "r", StartedAt: time.Date(2026, 11, 23, 15, minute, 0, 0, time.FixedZone("CET", 3600))}
	}
	c := compare.Comparison{By: "arm", Baseline: "a", Strata: []compare.Stratum{{
		Arms: map[string]compare.Arm{"a": {Runs: []compare.RunRef{at(10), {Run: "undated"}}}, "b": {Runs: []compare.RunRef{at(40), at(20)}}},
		Pairs: []compare.Pair{{A: "a", B: "b", Fairness: []compare.Fairness{
			{Item: compare.FactEngine, A: "llamacpp b6500", B: "llamacpp b6700", Differs: true}, {Item: compare.FactProgram, A: "v1", B: "v1"},
		}}},
	}}}
	const want = "started 2026-11-23 14:10:00 to 2026-11-23 14:40:00 UTC, engine llamacpp b6500; llamacpp b6700, uma-load v1"
	if got := madeLine(c); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var text, md bytes.Buffer
	if err := Text(&text, c); err != nil || !strings.Contains(text.String(), want) {
		t.Errorf("%v: %s", err, text.String())
	}
	if err := Markdown(&md, "t", c); err != nil || !strings.Contains(md.String(), "2026-11-23 14:10:00 to 2026-11-23 14:40:00 UTC") {
		t.Errorf("%v: %s", err, md.String())
	}
	if got := madeLine(compare.Comparison{}); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
