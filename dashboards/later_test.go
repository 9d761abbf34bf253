package dashboards

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"

	"github.com/umascope/umascope/exporter/metric"
)

// served are a run that lasts to 10 minutes and what serve tells of it from 12 minutes on.
func served(t *testing.T) archive {
	t.Helper()
	return stored(t, map[string]string{"host": "h", "run": "r"},
		`uma_results_runs{state="shown",job="uma-results"} _x47 1x100`,
		`uma_run_valid{run="r",job="uma-results"} _x47 1x100`)
}

// The page of a run is opened in the time of the run, at the end of which nothing has been told of it yet.
func TestSeriesExportedAfterARunAreShownInTheTimeOfTheRun(t *testing.T) {
	a := served(t)
	valid := servedLater(subject{queries: []query{{"valid", thisRun(metric.RunValid)}}}).queries[0].expr
	now := 30 * time.Minute
	for name, at := range map[string]time.Duration{"at the end of the run": 10 * time.Minute, "at its beginning": time.Minute, "now": now} {
		answer := a.ask(t, untilServed(), at)
		seconds, alone := answer["{}"]
		if !alone || len(answer) != 1 || seconds > 0 {
			t.Fatalf("%s: %v", name, answer)
		}
		a.chosen[laterName] = strconv.FormatFloat(seconds, 'f', -1, 64)
		same(t, name, a.ask(t, valid, at), map[string]float64{`{run="r"}`: 1})
	}
}

func TestWhereServeIsGoneNothingIsTakenFromLater(t *testing.T) {
	a := served(t)
	same(t, "gone", a.ask(t, untilServed(), 5*time.Hour), map[string]float64{"{}": 0})
	a = stored(t, map[string]string{}, `up{job="uma-exporter"} 1x9`)
	same(t, "never there", a.ask(t, untilServed(), time.Minute), map[string]float64{"{}": 0})
}

// Whatever is a figure and no curve on the pages about runs is of what serve tells, and so are their choices.
func TestFiguresOfRunsAreTakenFromLater(t *testing.T) {
	served := regexp.MustCompile(`uma_(?:run|comparison)_[a-z_0-9]+\{[^}]*\}( offset \$\{later\})?`)
	for _, name := range []string{runPageName + ".json", comparePageName + ".json"} {
		d, figures := renderAll(t)[name], 0
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				for _, found := range served.FindAllStringSubmatch(q.Expr, -1) {
					if q.Instant && !strings.Contains(found[0], "run_active") {
						figures++
						if found[1] == "" {
							t.Errorf("%s/%s asks for %s at the end of the time range", name, p.Title, found[0])
						}
					} else if found[1] != "" {
						t.Errorf("%s/%s draws %s", name, p.Title, found[0])
					}
				}
			}
		}
		for _, v := range d.Templating.List {
			if v.Type == "query" && v.Name != "host" && v.Name != laterName && !strings.Contains(fmt.Sprint(v.Query), "offset ${later}") {
				t.Errorf("%s: %s is chosen of %s", name, v.Name, v.Query)
			}
		}
		if figures < 20 {
			t.Errorf("%s: only %d figures", name, figures)
		}
	}
}

// The 63 published runs are older than a quarter of a year.
func TestRunsOfLastYearAreShown(t *testing.T) {
	const day = 360 // steps
	storage := promqltest.LoadedStorage(t, fmt.Sprintf("load 4m\n  uma_results_runs{state=\"shown\",job=\"uma-results\"} _x%d 1x9\n", 300*day))
	t.Cleanup(func() { storage.Close() })
	a := archive{storage, map[string]string{}}
	answer := a.ask(t, untilServed(), 2*time.Hour)
	if answer["{}"] > -299*24*3600 {
		t.Errorf("%v", answer)
	}
}
