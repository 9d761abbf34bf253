package dashboards

import (
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func TestEveryGradeOfEvidenceHasAWordAndAColourOfItsOwn(t *testing.T) {
	help := metric.RunSignalGrade.Def().Help
	colors := map[string]string{}
	for _, s := range gradeShades() {
		if !strings.Contains(help, s.value) || s.text == "" || colors[s.color] != "" {
			t.Errorf("%+v, and %q has that colour; the help says %s", s, colors[s.color], help)
		}
		colors[s.color] = s.value
	}
	if len(colors) != 4 {
		t.Errorf("%d grades", len(colors))
	}
}

// A host goes on when a run is over, and other runs are on it before and after.
func TestCurvesOfARunAreOfItsTimeOnly(t *testing.T) {
	a := twoRuns(t, map[string]string{"run": "a"})
	want := map[string]float64{`{arm="native", host="h", run="a"}`: 4 * 4}
	same(t, "while it lasts", a.ask(t, inRun(hottest()), 4*time.Minute), want)
	for _, at := range []time.Duration{30 * time.Minute, 62 * time.Minute} {
		same(t, "at "+at.String(), a.ask(t, inRun(hottest()), at), nil)
	}
}

// Two GPUs draw together, whoever reads them: two exporters of a host do not double the power.
func TestPowerIsThatOfAllGPUsOnce(t *testing.T) {
	a := stored(t, map[string]string{"host": "h"},
		`uma_gpu_power_watts{host="h",uuid="1",job="uma-exporter",instance="a"} 100x9`,
		`uma_gpu_power_watts{host="h",uuid="1",job="uma-exporter",instance="b"} 100x9`,
		`uma_gpu_power_watts{host="h",uuid="2",job="uma-exporter",instance="a"} 50x9`,
		`uma_gpu_power_watts{host="other",uuid="3",job="uma-exporter",instance="c"} 900x9`)
	same(t, "power", a.ask(t, drawn(), time.Minute), map[string]float64{`{host="h"}`: 150})
}

// A run that is served by its own page while it lasts and by serve afterwards is one run.
func TestFiguresOfARunAreShownOnceHoweverManyServersExportThem(t *testing.T) {
	a := stored(t, map[string]string{"run": "r"},
		`uma_run_simulated{host="h",run="r",job="uma-load",instance="a"} 1x9`,
		`uma_run_simulated{host="h",run="r",job="uma-results",instance="b"} 1x9`,
		`uma_run_simulated{host="h",run="other",job="uma-results",instance="b"} 0x9`)
	same(t, "simulated", a.ask(t, holds(metric.RunSimulated), time.Minute), map[string]float64{`{run="r"}`: 1})
}

func TestATableOfQuantilesHasALineForEach(t *testing.T) {
	a := stored(t, map[string]string{"run": "run-5"}, finished(t)...)
	same(t, "first token", a.ask(t, quantilesOf(metric.RunTimeToFirstTokenSeconds), time.Minute), map[string]float64{
		`{quantile="0.5"}`: 0.1, `{quantile="0.9"}`: 0.2, `{quantile="0.95"}`: 0.25,
	})
}

func TestTheTimeThatARunTookIsInSeconds(t *testing.T) {
	a := stored(t, map[string]string{"run": "run-5"}, finished(t)...)
	if unit := took().Unit(); unit != (expr.Unit{Base: metric.Seconds}) {
		t.Errorf("it is in %s", unit)
	}
	same(t, "took", a.ask(t, took(), time.Minute), map[string]float64{`{run="run-5"}`: 30})
}
