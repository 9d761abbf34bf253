package dashboards

import (
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// A number with a curve behind it asks for the whole time range, in which a source that is gone has a last value.
func TestACurveThatHasEndedIsNoPresentValue(t *testing.T) {
	a := stored(t, map[string]string{"host": "h"}, `uma_gpu_utilization_ratio{host="h",uuid="1"} 0.5x8`)
	e := one(metric.GPUUtilizationRatio)
	shown := e.And(e.AtEnd())
	if got := a.curves(t, shown.String(), 2*time.Minute); got[`{host="h"}`] != 9 {
		t.Errorf("while it is there: %v", got)
	}
	if got := a.curves(t, shown.String(), 8*time.Minute); len(got) > 0 {
		t.Errorf("when it is gone: %v", got)
	}
	built, err := trend(subject{title: "t", means: "m.", wrong: "w.", noData: "n", queries: []query{{"x", e}}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	if q := target(t, built, 0); q != shown.String() {
		t.Errorf("asked %s, want %s", q, shown)
	}
}

// target is the expression of a query of a panel.
func target(t *testing.T, p dashboard.Panel, i int) string {
	t.Helper()
	q, is := p.Targets[i].(prometheus.Dataquery)
	if !is {
		t.Fatalf("query %T", p.Targets[i])
	}
	return q.Expr
}

// The tile of the temperature has one query for each colour, of which one has an answer.
func TestTheTemperatureHasTheColourOfTheAlert(t *testing.T) {
	const limit = `uma_gpu_temperature_margin_celsius{host="h",uuid="1",limit="slowdown"} `
	p := panelOf(t, "thermal-and-power.json", "Temperature")
	for name, c := range map[string]struct {
		gpu, celsius, margin string
		want                 string
	}{
		"usual":                   {"NVIDIA GB10", "84", "", "temperature"},
		"warning":                 {"NVIDIA GB10", "89", "", "temperature, GPUHot warning"},
		"critical":                {"NVIDIA GB10", "93", "", "temperature, GPUHot critical"},
		"another GPU":             {"NVIDIA H200", "89", "10", "temperature"},
		"another near its limit":  {"NVIDIA H200", "89", "4", "temperature, GPUHot warning"},
		"without any limit known": {"NVIDIA H200", "93", "", "temperature"},
	} {
		series := []string{`uma_gpu_info{host="h",uuid="1",gpu="0",name="` + c.gpu + `"} 1x40`, `uma_gpu_temperature_celsius{host="h",uuid="1"} ` + c.celsius + "x40"}
		if c.margin != "" {
			series = append(series, limit+c.margin+"x40")
		}
		a := stored(t, map[string]string{"host": "h"}, series...)
		var shown []string
		for _, q := range p.Targets {
			if len(a.vector(t, q.Expr, 5*time.Minute)) > 0 {
				shown = append(shown, q.LegendFormat)
			}
		}
		if got := strings.Join(shown, "; "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
