package alerts

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func render(t *testing.T) map[string]string {
	t.Helper()
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.Name] = string(f.Content)
	}
	return texts
}

// TestRuleFilesAreWhatPrometheusReads also expands every template, which rulefmt checks.
func TestRuleFilesAreWhatPrometheusReads(t *testing.T) {
	texts := render(t)
	for _, group := range Groups() {
		count := len(group.Recordings)
		for _, alert := range group.Alerts {
			count += len(alert.Rules)
		}
		if book := load(t, []byte(texts[group.Name+".yaml"])); len(book) != count || count == 0 {
			t.Errorf("group %s: %d rules written, %d read", group.Name, count, len(book))
		}
	}
}

func TestNoRuleDependsOnTheAddressOfATarget(t *testing.T) {
	for name, text := range render(t) {
		if strings.HasSuffix(name, ".yaml") && strings.Contains(text, "instance") {
			t.Errorf("%s mentions instance", name)
		}
	}
}

func TestEveryAlertIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	for _, group := range Groups() {
		for _, alert := range group.Alerts {
			if names[alert.Name] || !regexp.MustCompile(`^([A-Z][a-z]*)+$`).MatchString(alert.Name) {
				t.Errorf("name %q", alert.Name)
			}
			names[alert.Name] = true
			if strings.Contains(alert.Summary, "{{") || !strings.HasSuffix(alert.Summary, ".") {
				t.Errorf("%s: summary %q is not a constant sentence", alert.Name, alert.Summary)
			}
			urgency := []Severity{None, Info, Warning, Critical}
			for i, rule := range alert.Rules {
				if !slices.Contains(urgency, rule.Severity) {
					t.Errorf("%s: severity %q", alert.Name, rule.Severity)
				}
				if i > 0 && slices.Index(urgency, rule.Severity) <= slices.Index(urgency, alert.Rules[i-1].Severity) {
					t.Errorf("%s: the most urgent severity must come last, each once", alert.Name)
				}
				if rule.KeepFiringFor == 0 && rule.Severity != None && alert.About != AboutStack && alert.About != AboutTarget {
					t.Errorf("%s: one lost scrape ends it", alert.Name)
				}
			}
		}
	}
}

func TestAnAlertThatLacksSomethingIsRefused(t *testing.T) {
	good := func() Alert {
		a := oomKill()
		a.Rules = slices.Clone(a.Rules)
		return a
	}
	cases := map[string]func(*Alert){
		"no rules":       func(a *Alert) { a.Rules = nil },
		"no summary":     func(a *Alert) { a.Summary = "" },
		"no meaning":     func(a *Alert) { a.Runbook.Meaning = "" },
		"no check":       func(a *Alert) { a.Runbook.Check = "" },
		"no action":      func(a *Alert) { a.Runbook.Action = "" },
		"no description": func(a *Alert) { a.Rules[0].Description = "" },
		"no host":        func(a *Alert) { a.Rules[0].Expr = a.Rules[0].Expr.Max(expr.By()) },
		"refused":        func(a *Alert) { a.Rules[0].Expr = expr.Select(metric.GPUTemperatureCelsius).Sum(byHost()) },
		"no expression":  func(a *Alert) { a.Rules[0].Expr = expr.Expr{} },
	}
	if _, err := (Group{Name: "g", Alerts: []Alert{good()}}).rules(Settings{}); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range cases {
		a := good()
		spoil(&a)
		if _, err := (Group{Name: "g", Alerts: []Alert{a}}).rules(Settings{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
