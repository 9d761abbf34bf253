// Package alerts holds the alert rules, one file per subject: expression, threshold, texts and
// what to do about each, in one value, from which the rule files and the runbook are written.
package alerts

import (
	"errors"
	"fmt"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Severity says how soon a person should look.
type Severity string

// The severities in use. One alert can have both: the critical rule then holds only when the
// warning does too.
const (
	Critical Severity = "critical" // now
	Warning  Severity = "warning"  // today
)

// Group is the alerts of one subject: one rule file.
type Group struct {
	Name   string // of the file and the rule group
	Alerts []Alert
}

// Alert is one thing that can be wrong.
type Alert struct {
	Name string
	// Summary is a sentence without templates.
	Summary string
	// Rules are the severities of the alert, most urgent last.
	Rules   []Rule
	Runbook Runbook
}

// Rule is an alert at one severity.
type Rule struct {
	Severity Severity
	// Expr gives one series per host that the rule fires for.
	Expr expr.Expr
	// For is how long the expression must hold, KeepFiringFor how long the alert stays after it
	// has ceased to: against flapping and lost scrapes.
	For, KeepFiringFor time.Duration
	// Description is a template of Prometheus; the host is put before it.
	Description string
}

// Runbook is what a person needs who has got the alert, in Markdown.
type Runbook struct {
	Meaning string // what is wrong, and what it is not
	Check   string // how to see it for oneself
	Action  string // what to do
}

// Groups lists the groups: the table of contents.
func Groups() []Group {
	return []Group{memoryGroup()}
}

// URL is where the runbook of an alert is published.
func (a Alert) URL() string {
	return "https://github.com/umascope/umascope/blob/main/" + runbookPath + "#" + anchor(a.Name)
}

// labelled gives the alert the mode of its source, so that an alert about a machine that is
// constructed, replayed or simulated cannot be taken for one about a real one. The modes stand on
// the left, where several of them on one host are two alerts and not a failed evaluation.
func labelled(e expr.Expr) expr.Expr {
	modes := expr.Select(metric.ExporterMode).Equals(expr.Number(1)).Max(expr.By(metric.LabelHost, metric.LabelMode))
	return modes.Times(e, expr.On(metric.LabelHost).GroupLeft())
}

// onHost begins every description.
const onHost = `{{ $labels.host }}{{ if ne $labels.mode "` + metric.ModeLive + `" }} ({{ $labels.mode }} source, no live machine){{ end }}: `

// check says what is wrong with an alert.
func (a Alert) check() error {
	if len(a.Rules) == 0 || a.Summary == "" || a.Runbook.Meaning == "" || a.Runbook.Check == "" || a.Runbook.Action == "" {
		return fmt.Errorf("alert %s lacks rules, summary or runbook", a.Name)
	}
	for _, rule := range a.Rules {
		if err := rule.Expr.Err(); err != nil {
			return fmt.Errorf("alert %s: %w", a.Name, err)
		}
		if !rule.Expr.HasLabel(metric.LabelHost) {
			return fmt.Errorf("alert %s: its series do not say which host they are about", a.Name)
		}
		if rule.Description == "" {
			return errors.New("alert " + a.Name + " has a rule without description")
		}
	}
	return nil
}
