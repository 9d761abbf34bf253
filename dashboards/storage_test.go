package dashboards

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/metric"
)

// panelOf is a panel of a dashboard by its title.
func panelOf(t *testing.T, file, title string) renderedPanel {
	t.Helper()
	for _, p := range renderAll(t)[file].Panels {
		if p.Title == title {
			return p
		}
	}
	t.Fatalf("%s has no panel %s", file, title)
	return renderedPanel{}
}

func TestEveryWayOfBlocksIsDrawnOnceAndOnItsOwnPanel(t *testing.T) {
	var known, drawn []string
	for _, r := range dynamo.KVBMRoutes() {
		known = append(known, strings.Join([]string{r.Op, r.From, r.To}, " "))
	}
	for _, f := range flows() {
		drawn = append(drawn, strings.Join([]string{f.op, f.from, f.to}, " "))
		if f.color == "" {
			t.Errorf("%v has no colour", f)
		}
	}
	slices.Sort(known)
	slices.Sort(drawn)
	if !slices.Equal(drawn, known) {
		t.Errorf("drawn %v, want %v", drawn, known)
	}
	queries := 0
	for op, title := range map[string]string{metric.OpOffload: "Blocks offloaded", metric.OpOnboard: "Blocks onboarded"} {
		for _, q := range panelOf(t, "kv-cache-and-storage.json", title).Targets {
			queries++
			if !strings.Contains(q.Expr, fmt.Sprintf("op=%q", op)) {
				t.Errorf("%s asks for another operation: %s", title, q.Expr)
			}
		}
	}
	if queries != len(known) {
		t.Errorf("%d ways on both panels, want %d", queries, len(known))
	}
}

func TestWaysThatAreStackedTogetherDifferInColour(t *testing.T) {
	seen := map[string]string{}
	for _, f := range flows() {
		if other := seen[f.op+f.color]; other != "" {
			t.Errorf("%s: %s and %s are both %s", f.op, other, f.from+f.to, f.color)
		}
		seen[f.op+f.color] = f.from + f.to
	}
}

func TestReadsOfTheTierAreComparedOverTheSameWindow(t *testing.T) {
	for _, q := range panelOf(t, "kv-cache-and-storage.json", "Bytes read for each byte claimed").Targets {
		if windows := strings.Count(q.Expr, "[5m]"); windows != 2 || strings.Contains(q.Expr, "$__") {
			t.Errorf("%s: %d windows of 5 minutes in %s", q.LegendFormat, windows, q.Expr)
		}
		if !strings.Contains(q.Expr, "> 0") {
			t.Errorf("%s divides by nothing: %s", q.LegendFormat, q.Expr)
		}
	}
}

func TestPromptTokensAreStackedByTiersOfWhichOneHadEach(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range foundIn() {
		if seen[f.tier] || tierColors()[f.tier] == "" {
			t.Errorf("%s: drawn twice, or without a colour", f.tier)
		}
		seen[f.tier] = true
	}
	// What KVBM matched is a part of what a connector had: stacked, it would count twice.
	p := panelOf(t, "kv-cache-and-storage.json", "Prompt tokens, by where they were found")
	if last := p.Targets[len(p.Targets)-1]; last.LegendFormat != "matched by KVBM" || len(p.Targets) != len(foundIn())+1 {
		t.Errorf("%d queries, the last %q", len(p.Targets), last.LegendFormat)
	}
	if !slices.ContainsFunc(p.FieldConfig.Overrides, func(o renderedOverride) bool {
		return o.Matcher.Options == "matched by KVBM" && strings.Contains(string(o.Properties), `"mode": "none"`)
	}) {
		t.Error("what KVBM matched is stacked upon the tiers")
	}
}

// readsOfAnHour are an hour in which KVBM says that it read 1 MB a second from disk on a machine with two exporters, while
// the process of the tier reads as much as is said, a cache server in another cgroup ten times that, and the drive
// all of it.
func readsOfAnHour(t *testing.T, tier string) archive {
	t.Helper()
	series := []string{}
	for _, instance := range []string{"a", "b"} {
		of := fmt.Sprintf(`host="h",instance=%q,`, instance)
		series = append(series,
			`uma_kvbm_bytes_total{`+of+`source="s",op="onboard",from="disk",to="device"} 0+15000000x240`,
			`uma_kvbm_bytes_total{`+of+`source="s",op="onboard",from="host",to="device"} 0+99000000x240`,
			`uma_kvbm_disk_file_bytes{`+of+`pid="1",comm="engine",cgroup="/engine",path="/kv"} 1000x240`,
			`uma_process_io_bytes_total{`+of+`pid="1",comm="engine",cgroup="/engine",op="read"} `+tier,
			`uma_process_io_bytes_total{`+of+`pid="2",comm="engine",cgroup="/engine",op="write"} 0+77000000x240`,
			`uma_process_io_bytes_total{`+of+`pid="3",comm="other",cgroup="/other",op="read"} 0+150000000x240`,
			`uma_cgroup_io_bytes_total{`+of+`cgroup="/engine",device="259:0",op="read"} `+tier,
			`uma_cgroup_io_bytes_total{`+of+`cgroup="/other",device="259:0",op="read"} 0+150000000x240`,
			`uma_nvme_read_bytes_total{`+of+`device="nvme0n1"} 0+165000000x240`)
	}
	return stored(t, map[string]string{"host": "h"}, series...)
}

func TestReadsAgreeWhereTheTierWasReadAndNotWhereMemoryAnswered(t *testing.T) {
	for tier, want := range map[string]float64{"0+15000000x240": 1, "5000x240": 0} {
		a := readsOfAnHour(t, tier)
		for i, q := range readForClaimed()[:2] {
			same(t, fmt.Sprint(tier, i), a.ask(t, q.expr, 30*time.Minute), map[string]float64{`{host="h"}`: want})
		}
		same(t, tier+" drives", a.ask(t, readForClaimed()[2].expr, 30*time.Minute), map[string]float64{`{host="h"}`: 11})
		same(t, tier+" claimed", a.ask(t, kvbmFromDisk(), 30*time.Minute), map[string]float64{`{host="h"}`: 1e6})
	}
}

func TestNothingIsComparedWithNoClaim(t *testing.T) {
	a := stored(t, map[string]string{"host": "h"},
		`uma_kvbm_bytes_total{host="h",source="s",op="onboard",from="disk",to="device"} 5000x240`,
		`uma_nvme_read_bytes_total{host="h",device="nvme0n1"} 0+165000000x240`)
	same(t, "drives", a.ask(t, readForClaimed()[2].expr, 30*time.Minute), map[string]float64{})
}

func TestAFrontendAndItsEngineCountTheSamePromptsOnce(t *testing.T) {
	var series []string
	for _, source := range []string{"frontend", "engine"} {
		series = append(series,
			fmt.Sprintf(`uma_engine_prefix_cache_tokens_total{host="h",source=%q,model="m",tier="device",result="hit"} 0+30x240`, source),
			fmt.Sprintf(`uma_engine_prefix_cache_tokens_total{host="h",source=%q,model="m",tier="none",result="miss"} 0+90x240`, source))
	}
	a := stored(t, map[string]string{"host": "h"}, series...)
	same(t, "share", a.ask(t, prefixShare(eachPerSecond).Max(byHost()), 30*time.Minute), map[string]float64{`{host="h"}`: 0.25})
}
