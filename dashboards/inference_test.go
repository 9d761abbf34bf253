package dashboards

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

func TestEveryStatusOfRequestsIsDrawnOnce(t *testing.T) {
	p := panelOf(t, "inference.json", "Requests ended, by status")
	for _, status := range metric.RequestStatuses() {
		drawn := 0
		for _, q := range p.Targets {
			drawn += strings.Count(q.Expr, fmt.Sprintf("status=%q", status))
		}
		if drawn != 1 {
			t.Errorf("%s is drawn %d times", status, drawn)
		}
	}
	colors := 0
	for _, o := range p.FieldConfig.Overrides {
		if o.Matcher.ID == "byName" {
			colors++
		}
	}
	if len(p.Targets) != len(metric.RequestStatuses()) || colors != len(p.Targets) {
		t.Errorf("%d queries and %d colours for %d statuses", len(p.Targets), colors, len(metric.RequestStatuses()))
	}
}

// Series of a run do not name the machine: only the list of its runs keeps those of others away.
func TestAllRunsAreThoseOfTheHost(t *testing.T) {
	found := false
	for _, v := range renderAll(t)["inference.json"].Templating.List {
		if v.Name != "runs" {
			continue
		}
		found = true
		if v.AllValue != "" || !v.IncludeAll || !strings.Contains(fmt.Sprint(v.Query), `host="$host"`) {
			t.Errorf("all runs are %q of %v", v.AllValue, v.Query)
		}
	}
	if !found {
		t.Error("no run can be chosen")
	}
}

func TestLatenciesShowBothClocksByName(t *testing.T) {
	for title, families := range map[string][2]metric.Histogram{
		"Time to first token": {metric.LoadTimeToFirstTokenSeconds, metric.LoadScheduledTimeToFirstTokenSeconds},
		"Duration":            {metric.LoadRequestDurationSeconds, metric.LoadScheduledRequestDurationSeconds},
	} {
		p := panelOf(t, "inference.json", title)
		for _, q := range p.Targets {
			family := families[0].Def().Name
			if strings.Contains(q.LegendFormat, "scheduled") {
				family = families[1].Def().Name
			}
			if !strings.Contains(q.Expr, "("+family+"{") || !strings.Contains(q.Expr, "("+family+"_bucket{") {
				t.Errorf("%s: %s is not of %s in both forms: %s", title, q.LegendFormat, family, q.Expr)
			}
		}
		if len(p.Targets) != 4 || !strings.Contains(p.Description, "dashed ones from the moment it should have been") {
			t.Errorf("%s: %d lines, %q", title, len(p.Targets), p.Description)
		}
	}
}

func TestAnAnswerOfASimulatedEngineIsMarked(t *testing.T) {
	p := panelOf(t, "inference.json", "Runs now")
	var of []string
	for _, q := range p.Targets {
		of = append(of, q.LegendFormat)
		if q.LegendFormat == "no run now" {
			continue
		}
		if strings.Contains(q.LegendFormat, "simulated") == strings.Contains(q.Expr, " unless ") {
			t.Errorf("%s: %s", q.LegendFormat, q.Expr)
		}
	}
	if len(of) != 3 || of[2] != "no run now" {
		t.Errorf("runs are shown as %q", of)
	}
}

// The zero bucket of a native histogram reaches from 0 to 10^-39 and a quantile within it is something between.
func TestARequestThatDidNotWaitWaitedZeroSeconds(t *testing.T) {
	a := stored(t, map[string]string{"runs": ".+", "phase": ".+"},
		`uma_load_queue_delay_seconds{run="r",phase="measure"} {{schema:3 sum:0 count:0 z_bucket:0 z_bucket_w:2.9e-39}}+{{schema:3 sum:0 count:9 z_bucket:9 z_bucket_w:2.9e-39}}x20`)
	same(t, "wait", a.ask(t, loadQuantile(slow, metric.LoadQueueDelaySeconds), 4*time.Minute), map[string]float64{`{run="r"}`: 0})
}
