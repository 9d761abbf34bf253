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
func TestAllRunsAreThoseOfTheHosts(t *testing.T) {
	found := false
	for _, v := range renderAll(t)["inference.json"].Templating.List {
		if v.Name != "runs" {
			continue
		}
		found = true
		if v.AllValue != "" || !v.IncludeAll || !strings.Contains(fmt.Sprint(v.Query), `host=~"$host"`) {
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

// A page that is opened after a day of a campaign has dozens of runs in its time range. More lines than this cannot be told
// apart by their colours.
func TestAPanelOfInferenceStaysReadableWithManyRunsAndEngines(t *testing.T) {
	const runs, hosts, enginesOfHost, mostLines = 40, 2, 3, 12
	var series []string
	add := func(format string, args ...any) { series = append(series, fmt.Sprintf(format, args...)) }
	for i := range runs {
		of := fmt.Sprintf(`run="run-%d",phase="measure"`, i)
		add(`uma_run_active{host="spark-%d",run="run-%d",arm="native",scenario="s"} 1x40`, i%hosts, i)
		add(`uma_load_requests_in_flight{%s} 4x40`, of)
		add(`uma_load_good_requests_total{%s} 0+9x40`, of)
		add(`uma_load_stream_events_total{%s} 0+9x40`, of)
		for _, status := range metric.RequestStatuses() {
			add(`uma_load_requests_total{%s,status=%q} 0+9x40`, of, status)
		}
		for _, direction := range []string{metric.DirectionInput, metric.DirectionOutput} {
			add(`uma_load_tokens_total{%s,direction=%q} 0+9x40`, of, direction)
		}
		for _, h := range []metric.Histogram{metric.LoadTimeToFirstTokenSeconds, metric.LoadScheduledTimeToFirstTokenSeconds, metric.LoadRequestDurationSeconds,
			metric.LoadScheduledRequestDurationSeconds, metric.LoadTimePerOutputTokenSeconds, metric.LoadChunkGapSeconds, metric.LoadQueueDelaySeconds, metric.LoadClientLagSeconds} {
			add(`%s_bucket{%s,le="1"} 0+9x40`, h.Def().Name, of)
			add(`%s_bucket{%s,le="+Inf"} 0+9x40`, h.Def().Name, of)
		}
	}
	for host := range hosts {
		for _, h := range []metric.Histogram{metric.VLLMTimeToFirstTokenSeconds, metric.VLLMRequestQueueTimeSeconds, metric.VLLMRequestTimePerOutputTokenSeconds, metric.VLLME2ERequestLatencySeconds} {
			add(`%s_bucket{host="spark-%d",model_name="m",le="1"} 0+9x40`, h.Def().Name, host)
			add(`%s_bucket{host="spark-%d",model_name="m",le="+Inf"} 0+9x40`, h.Def().Name, host)
		}
		for engine := range enginesOfHost {
			of := fmt.Sprintf(`host="spark-%d",source="127.0.0.1:%d/metrics",model="m"`, host, 8000+engine)
			add(`uma_engine_info{%s,engine="vllm",version="1"} 1x40`, of)
			add(`uma_engine_preemptions_total{%s} 0+9x40`, of)
			add(`uma_engine_spec_drafts_total{%s} 0+9x40`, of)
			add(`uma_engine_spec_accepted_tokens_total{%s,position="0"} 0+9x40`, of)
			add(`uma_engine_spec_accepted_length{%s} 2x40`, of)
			add(`uma_engine_prefix_cache_tokens_total{%s,tier="device",result="hit"} 0+9x40`, of)
			for _, direction := range []string{metric.DirectionPrompt, metric.DirectionGeneration} {
				add(`uma_engine_tokens_total{%s,direction=%q} 0+9x40`, of, direction)
			}
			for _, state := range []string{metric.RequestsRunning, metric.RequestsWaiting, metric.RequestsPaused} {
				add(`uma_engine_requests{%s,state=%q} 4x40`, of, state)
			}
		}
	}
	a := stored(t, map[string]string{"host": "spark-0|spark-1", "runs": ".+", "phase": ".+", "engine": ".*", "model": ".*"}, series...)
	for _, p := range renderAll(t)["inference.json"].Panels {
		if p.Type != "timeseries" {
			continue
		}
		lines := 0
		for _, q := range p.Targets {
			lines += len(a.curves(t, q.Expr, 8*time.Minute))
		}
		if lines == 0 || lines > mostLines {
			t.Errorf("%s draws %d lines, want 1 to %d", p.Title, lines, mostLines)
		}
	}
}

func TestFiguresOfEnginesAreOfTheChosenOnesThatServeAChosenModel(t *testing.T) {
	var series []string
	for i, labels := range []string{`engine="vllm",model="a"`, `engine="vllm",model="b"`, `engine="sglang",model="a"`} {
		series = append(series,
			fmt.Sprintf(`uma_engine_info{host="h%d",source="s",version="1",%s} 1x40`, i, labels),
			fmt.Sprintf(`uma_engine_preemptions_total{host="h%d",source="s",model=""} 0+%dx40`, i, 15*(i+1)))
	}
	for chosen, want := range map[[2]string]map[string]float64{
		{".*", ".*"}:   {`{host="h0"}`: 1, `{host="h1"}`: 2, `{host="h2"}`: 3},
		{"vllm", ".*"}: {`{host="h0"}`: 1, `{host="h1"}`: 2},
		{".*", "a"}:    {`{host="h0"}`: 1, `{host="h2"}`: 3},
		{"vllm", "a"}:  {`{host="h0"}`: 1},
	} {
		a := stored(t, map[string]string{"host": "h0|h1|h2", "engine": chosen[0], "model": chosen[1]}, series...)
		same(t, fmt.Sprint(chosen), a.ask(t, enginePerSecond(metric.EnginePreemptionsTotal).Max(byHost()), 8*time.Minute), want)
	}
}

// The zero bucket of a native histogram reaches from 0 to 10^-39 and a quantile within it is something between.
func TestARequestThatDidNotWaitWaitedZeroSeconds(t *testing.T) {
	a := stored(t, map[string]string{"runs": ".+", "phase": ".+"},
		`uma_load_queue_delay_seconds{run="r",phase="measure"} {{schema:3 sum:0 count:0 z_bucket:0 z_bucket_w:2.9e-39}}+{{schema:3 sum:0 count:9 z_bucket:9 z_bucket_w:2.9e-39}}x20`)
	same(t, "wait", a.ask(t, loadQuantile(slow, metric.LoadQueueDelaySeconds), 4*time.Minute), map[string]float64{`{}`: 0})
}

func TestTokensPerStepWithADraft(t *testing.T) {
	counts := func(host string, drafts, first, second int) []string {
		of := fmt.Sprintf(`host=%q,source="s",model="m"`, host)
		return []string{
			fmt.Sprintf(`uma_engine_info{%s,engine="vllm",version="1"} 1x40`, of),
			fmt.Sprintf(`uma_engine_spec_drafts_total{%s} 0+%dx40`, of, drafts),
			fmt.Sprintf(`uma_engine_spec_accepted_tokens_total{%s,position="0"} 0+%dx40`, of, first),
			fmt.Sprintf(`uma_engine_spec_accepted_tokens_total{%s,position="1"} 0+%dx40`, of, second),
		}
	}
	series := append(counts("h0", 150, 75, 30), counts("h1", 0, 0, 0)...)
	series = append(series, `uma_engine_info{host="h2",source="s",model="m",engine="sglang",version="1"} 1x40`, `uma_engine_spec_accepted_length{host="h2",source="s",model="m"} 2.5x40`)
	a := stored(t, map[string]string{"host": "h0|h1|h2", "engine": ".*", "model": ".*"}, series...)
	p := panelOf(t, "inference.json", "Tokens per step with a draft")
	for i, want := range []map[string]float64{{`{host="h0"}`: 1.7}, {`{host="h2"}`: 2.5}} {
		got := map[string]float64{}
		for _, s := range a.vector(t, p.Targets[i].Expr, 8*time.Minute) {
			got[s.Metric.String()] = s.F
		}
		same(t, p.Targets[i].LegendFormat, got, want)
	}
}
