package alerts

import (
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// TestAlertsAboutPartsOfAHostHaveItsMode: several parts of a host of several sources, the case in which a
// product of both would fail to be evaluated. A host that is live and simulated under one name counts as
// live, with one alert for each part; one that is only simulated says so.
func TestAlertsAboutPartsOfAHostHaveItsMode(t *testing.T) {
	alert := Alert{
		Name: "PartIsBad", Summary: "A part is bad.", About: AboutPart, Runbook: Runbook{Meaning: "m", Check: "c", Action: "a"},
		Rules: []Rule{{Severity: Warning, Description: "{{ $labels.cgroup }} is bad.",
			Expr: expr.Select(metric.CgroupMemoryCurrentBytes).Max(expr.By(metric.LabelHost, metric.LabelCgroup)).Above(expr.Number(1))}},
	}
	rules, err := Group{Name: "parts", Alerts: []Alert{alert}}.rules(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var series strings.Builder
	series.WriteString("load 15s\n")
	for _, exporter := range []struct{ host, instance, mode string }{
		{"spark", "a:1", metric.ModeLive}, {"spark", "a:2", metric.ModeSimulated}, {"thor", "b:1", metric.ModeReplay}, {"stage", "c:1", metric.ModeSimulated},
	} {
		of := `{host="` + exporter.host + `",instance="` + exporter.instance + `",`
		for _, mode := range metric.Modes() {
			value := "0x4"
			if mode == exporter.mode {
				value = "1x4"
			}
			series.WriteString("  uma_exporter_mode" + of + `mode="` + mode + `"} ` + value + "\n")
		}
		for _, cgroup := range []string{"/a", "/b"} {
			series.WriteString("  uma_cgroup_memory_current_bytes" + of + `cgroup="` + cgroup + `"} 2x4` + "\n")
		}
		series.WriteString("  uma_cgroup_memory_current_bytes" + of + `cgroup="/small"} 1x4` + "\n")
	}
	book := load(t, []byte(render(t)["exporter.yaml"]), rules)
	book.replay(t, series.String(), time.Minute, 15*time.Second, func(time.Duration) {})
	fired := book.firing(t, "PartIsBad")
	if n := strings.Count(fired, "PartIsBad"); n != 6 {
		t.Errorf("%d alerts, want one for each of 2 cgroups of 3 hosts:\n%s", n, fired)
	}
	for _, part := range []string{"spark: /a is bad.", "spark: /b is bad.", "stage (simulated source, no live machine): /b is bad.", "thor (replay source, no live machine): /a is bad."} {
		if !strings.Contains(fired, part) {
			t.Errorf("%q is missing in\n%s", part, fired)
		}
	}
}
