//go:build proof

package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/dashboards/grafana"
	"github.com/umascope/umascope/exporter/metric"
)

// TestWhatDashboardsShowOfAStory plays the story once for all that is asked of it.
func TestWhatDashboardsShowOfAStory(t *testing.T) {
	s := tell(t)
	t.Run("the story has happened", s.hasHappened)
	t.Run("every panel shows something", s.everyPanelShowsSomething)
	t.Run("annotations are answered", s.annotationsAreAnswered)
}

// mayBeEmpty are panels, as page/panel or page/panel/query, that rightly show nothing in the whole story, with
// the reason. A page is its file without the ending.
func mayBeEmpty() map[string]string {
	const (
		noZFS       = "no host of the story has ZFS"
		allLive     = "every run that the story drives is simulated, and those that are not are over, or native"
		fewRequests = "the 99th percentile needs more requests than the runs of the story have"
		oneDay      = "a median of seven days is recorded once there is a day of values"
		gone        = "no host of the story is gone"
		oneKind     = "no six hosts of the story are of one kind"
		cool        = "no machine of the story is hot enough for GPUHot when it is looked at"
		imported    = "the only engines of the story with a word of their own are those of imported runs, of which no pool is known"
	)
	return map[string]string{
		"fleet/Sources/B":                                                   gone,
		"fleet/Occupied, share of the pool/B":                               gone,
		"fleet/KV cache in use, by host/B":                                  gone,
		"fleet/Temperature, by host/B":                                      gone,
		"fleet/Power, by host/B":                                            gone,
		"fleet/Sources/C":                                                   "every job of the story sets the label host",
		"fleet/Distance from peers/B":                                       oneKind,
		"fleet/Distance from peers/C":                                       oneKind,
		"fleet/Distance from peers/D":                                       oneKind,
		"fleet/Distance from peers/E":                                       oneKind,
		"fleet/Distance from peers/F":                                       oneKind,
		"unified-memory/Ledger of the pool/K":                               noZFS,
		"run-detail/Ledger of the pool while it ran/K":                      noZFS,
		"run-detail/Ledger of the run/K":                                    noZFS,
		"compare-runs/Ledgers of the two runs/K":                            noZFS,
		"thermal-and-power/Utilisation and fan/B":                           "the GPUs of the story are cooled by fans of their machines",
		"kv-cache-and-storage/Tiers/A":                                      "no process of the story has the variables of KVBM in its environment",
		"kv-cache-and-storage/Tiers/B":                                      "no process of the story has the variables of KVBM in its environment",
		"kv-cache-and-storage/Time of an operation/C":                       oneDay,
		"kv-cache-and-storage/Time of an operation/D":                       oneDay,
		"overview/Temperature/B":                                            cool,
		"overview/Temperature/C":                                            cool,
		"thermal-and-power/Temperature/B":                                   cool,
		"thermal-and-power/Temperature/C":                                   cool,
		"overview/Finished runs/F":                                          fewRequests,
		"overview/Collectors that failed/B":                                 "no collector of the story worked and then failed",
		"inference/Runs now/A":                                              allLive,
		"inference/Tokens per step with a draft/A":                          "the simulated engine has no speculative decoding",
		"compare-runs/Memory and KV cache by model, as engines report it/C": imported,
	}
}

// dependOnChance are queries that show something in some tellings of the story only, with the reason.
func dependOnChance() map[string]string {
	const inconclusive = "how many runs are needed is told where the verdict is open, which the noise of four runs decides"
	const noRatio = "a latency has a difference and no ratio where it is 0 in a run, which is so of the wait of a queue that was empty"
	return map[string]string{
		"compare-runs/Latency/G":                       noRatio,
		"compare-runs/Latency/H":                       noRatio,
		"compare-runs/Latency/I":                       noRatio,
		"compare-runs/Latency/J":                       inconclusive,
		"compare-runs/Memory/H":                        inconclusive,
		"compare-runs/Throughput, heat and the rest/J": inconclusive,
	}
}

// everyPanelShowsSomething asks every query of every dashboard as Grafana would, of every host and run of the story until
// one has an answer: a label value that nobody gives, or a join that finds no partner, is a mistake that no
// parser finds.
func (s *shortStory) everyPanelShowsSomething(t *testing.T) {
	excused := mayBeEmpty()
	for _, d := range s.dashboards(t) {
		for _, p := range d.Panels {
			switch page := strings.TrimPrefix(d.UID, "umascope-"); {
			case p.Title == "Alerts" && page != "fleet":
				excused[page+"/Alerts/E"] = "the rules of the story are evaluated"
			case p.Title == "Source":
				excused[page+"/Source/B"] = "every job of the story sets the label host"
			}
		}
		empty := map[string]string{} // queries by where they stand
		first := true
		for _, scope := range s.scopes(t, d) {
			for _, p := range d.Panels {
				s.askPanel(t, d, p, scope, empty, first)
			}
			if first = false; len(empty) == 0 {
				break
			}
		}
		for _, where := range slices.Sorted(maps.Keys(empty)) {
			panel := where[:strings.LastIndex(where, "/")]
			if excused[where] == "" && excused[panel] == "" && dependOnChance()[where] == "" {
				t.Errorf("%s shows nothing: %s", where, empty[where])
			}
			delete(excused, where)
			defer delete(excused, panel)
		}
	}
	t.Cleanup(func() {
		for where := range excused {
			t.Errorf("%s shows something, or is not there: no excuse is needed", where)
		}
	})
}

// askPanel asks the queries of a panel that no host before had an answer to; first is the first host.
func (s *shortStory) askPanel(t *testing.T, d grafana.Dashboard, p grafana.Panel, scope grafana.Scope, empty map[string]string, first bool) {
	t.Helper()
	queries, err := scope.Queries(p, 500)
	if err != nil {
		t.Errorf("%s, %s: %v", d.Title, p.Title, err)
	}
	for _, q := range queries {
		where := strings.TrimPrefix(d.UID, "umascope-") + "/" + p.Title + "/" + q.RefID
		if _, asked := empty[where]; !asked && !first {
			continue
		}
		var found int
		if q.Instant {
			found = len(s.values(t, q.Expr, q.To))
		} else {
			found = s.points(t, q.Expr, q.From, q.To, q.Step)
		}
		if found > 0 {
			delete(empty, where)
		} else {
			empty[where] = q.Expr
		}
	}
}

// annotationsAreAnswered: that they find something depends on what happens.
func (s *shortStory) annotationsAreAnswered(t *testing.T) {
	marked := 0
	for _, d := range s.dashboards(t) {
		scope := s.lookAt(t, d, spark, s.ended, 0)
		for _, a := range d.Annotations {
			q, err := scope.Annotation(a)
			if err != nil {
				t.Errorf("%s, %s: %v", d.Title, a.Name, err)
				continue
			}
			// In steps of a minute, as Grafana asks, a story of seconds has one moment at most.
			marked += len(s.values(t, q.Expr, s.midst))
		}
	}
	if marked == 0 {
		t.Error("no run is marked on any page")
	}
}

// dashboards are all that are generated, read as Grafana reads them.
func (s *shortStory) dashboards(t *testing.T) []grafana.Dashboard {
	t.Helper()
	files, err := dashboards.Files()
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards: %v", len(files), err)
	}
	var all []grafana.Dashboard
	for _, f := range files {
		d, err := grafana.Read(f.Content)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		all = append(all, d)
	}
	return all
}

// hosts are all machines of the story, the simulated one first.
func (s *shortStory) hosts(t *testing.T) []string {
	t.Helper()
	names := map[string]bool{}
	for _, sample := range s.values(t, `count by (host) ({host!=""})`, s.ended) {
		names[sample.Metric.Get(string(metric.LabelHost))] = true
	}
	delete(names, spark)
	return append([]string{spark}, slices.Sorted(maps.Keys(names))...)
}

// scopes are all ways to look at a dashboard: every host, and of what else is chosen one value after the other,
// at the end of the story and while a run went on.
func (s *shortStory) scopes(t *testing.T, d grafana.Dashboard) []grafana.Scope {
	t.Helper()
	var all []grafana.Scope
	for _, until := range []time.Time{s.ended, s.midst} {
		for _, host := range s.hosts(t) {
			for i, most := 0, 1; i < most; i++ {
				scope := s.lookAt(t, d, host, until, i)
				for _, v := range scope.Variables {
					if v.Kind == grafana.KindQuery && v.Name != "host" && !v.Multi {
						most = max(most, len(v.Options))
					}
				}
				all = append(all, scope)
			}
		}
	}
	return all
}

// lookAt opens a dashboard for a host. Of every variable the option is chosen that has this place in its list;
// run_b counts from the end, so that two runs are not the same.
func (s *shortStory) lookAt(t *testing.T, d grafana.Dashboard, host string, until time.Time, place int) grafana.Scope {
	t.Helper()
	settings := grafana.Settings{
		Source: "prometheus", Scrape: max(500*time.Millisecond, s.slowest.Truncate(time.Second)+time.Second),
		Window: grafana.Window{From: s.began, To: until}, Chosen: map[string][]string{"host": {host}},
	}
	scope := grafana.Resolve(t.Context(), d, settings, s.source(t))
	for _, v := range scope.Variables {
		if n := len(v.Options); n > 0 && v.Kind == grafana.KindQuery && v.Name != "host" && !v.Multi {
			at := place % n
			if v.Name == "run_b" {
				at = n - 1 - at
			}
			settings.Chosen[v.Name] = []string{v.Options[at]}
		}
	}
	scope = grafana.Resolve(t.Context(), d, settings, s.source(t))
	if err := scope.Err(); err != nil {
		t.Errorf("%s: %v", d.Title, err)
	}
	return scope
}

// source answers what variables ask.
func (s *shortStory) source(t *testing.T) grafana.Source {
	return grafana.Source{
		LabelValues: func(ctx context.Context, label, selector string, window grafana.Window) ([]string, error) {
			return s.labelValues(ctx, label, selector, window)
		},
		Instant: func(_ context.Context, expression string, at time.Time) ([]grafana.Sample, error) {
			var samples []grafana.Sample
			for _, sample := range s.values(t, expression, at) {
				samples = append(samples, grafana.Sample{Labels: sample.Metric.Map(), Value: strconv.FormatFloat(sample.F, 'g', -1, 64), Time: at})
			}
			return samples, nil
		},
	}
}

// labelValues is Prometheus' own search for the values of a label.
func (s *shortStory) labelValues(ctx context.Context, label, selector string, window grafana.Window) ([]string, error) {
	querier, err := s.timeline.database.Querier(window.From.UnixMilli(), window.To.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer querier.Close()
	var matchers []*labels.Matcher
	if selector != "" {
		if matchers, err = parser.NewParser(parser.Options{}).ParseMetricSelector(selector); err != nil {
			return nil, fmt.Errorf("%s: %w", selector, err)
		}
	}
	values, _, err := querier.LabelValues(ctx, label, nil, matchers...)
	return values, err
}
