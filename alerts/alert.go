// Package alerts holds the alert rules, one file per subject: expression, threshold, texts and actions of each alert in
// one value. The rule files and the runbook are generated from it.
package alerts

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Severity is how soon a person should act on an alert.
type Severity string

// The severities in use. One alert can have both warning and critical: the critical rule then holds only when the
// warning does too.
const (
	Critical Severity = metric.SeverityCritical // now
	Warning  Severity = metric.SeverityWarning  // today
	Info     Severity = metric.SeverityInfo     // with the next routine check
	None     Severity = metric.SeverityNone     // never: it is for Alertmanager, which mutes others while it fires
)

// Group is the rules of one subject: one rule file.
type Group struct {
	Name string // of the file and the rule group
	// Every is the evaluation interval, 0 for the default of Prometheus.
	Every time.Duration
	// Recordings are evaluated before the alerts, which may read them.
	Recordings []Recording
	Alerts     []Alert
}

// Recording records the value of an expression as a series.
type Recording struct {
	As   metric.Gauge // of metric.Recorded
	Expr expr.Expr
}

// Alert is an alert with all its severities.
type Alert struct {
	Name string
	// Summary is a sentence without templates.
	Summary string
	// Rules are the severities of the alert, most urgent last.
	Rules   []Rule
	Runbook Runbook
	// About is the source of the figures that the rules read, which also gives their label mode.
	About About
	// ExpectedInRuns reports that a run on the host causes the state on purpose: during a run Alertmanager mutes
	// severities up to warning.
	ExpectedInRuns bool
	// Mutes selects the alerts that Alertmanager mutes while this alert fires.
	Mutes Mutes
}

// Mutes selects muted alerts of the same host.
type Mutes int

// The alerts that an alert can mute.
const (
	MutesNothing  Mutes = iota
	MutesHost           // every other alert about the host: without its exporter none of them is new information
	MutesExpected       // warnings and information that runs cause on purpose
)

// About is the source of the figures that an alert reads.
type About int

// The sources.
const (
	AboutHost       About = iota // the machine as its exporter reports it now: one series per host
	AboutPart                    // a part of it: a GPU, a drive, a cgroup; any number of series per host
	AboutTarget                  // a host whose exporter may be gone: its mode is the last one seen, if any
	AboutCell                    // the newest finished run of a cell; the cell stays when a newer run comes
	AboutLiveRun                 // an active run, with any exporter
	AboutComparison              // a saved comparison, which belongs to no host
	AboutStack                   // the monitoring itself, which belongs to no host
)

// Rule is an alert at one severity.
type Rule struct {
	Severity Severity
	// Expr returns one series per host (or run, or comparison) for which the rule fires.
	Expr expr.Expr
	// For is how long the expression must hold, KeepFiringFor how long the alert continues after the expression has
	// ceased to hold: against flapping and lost scrapes.
	For, KeepFiringFor time.Duration
	// Description is a Prometheus template; the rule file puts the host before it.
	Description string
}

// Runbook is the help for a person who has received the alert, in Markdown.
type Runbook struct {
	Meaning string // the fault, and how it differs from similar ones
	Check   string // how to verify it
	Action  string // how to fix it
}

// RunbookURL returns the published address of an alert's section in the runbook of the group.
func (g Group) RunbookURL(a Alert) string {
	return "https://github.com/umascope/umascope/blob/main/alerts/" + g.runbookPath() + "#" + strings.ToLower(a.Name)
}

// check returns the errors in the definition of an alert.
func (a Alert) check() error {
	if len(a.Rules) == 0 || a.Summary == "" || a.Runbook.Meaning == "" || a.Runbook.Check == "" || a.Runbook.Action == "" {
		return fmt.Errorf("alert %s lacks rules, summary or runbook", a.Name)
	}
	for _, rule := range a.Rules {
		if err := rule.Expr.Err(); err != nil {
			return fmt.Errorf("alert %s: %w", a.Name, err)
		}
		for _, label := range a.About.needs() {
			if !rule.Expr.HasLabel(label) {
				return fmt.Errorf("alert %s: its series do not say which %s they are about", a.Name, label)
			}
		}
		if rule.Description == "" {
			return errors.New("alert " + a.Name + " has a rule without description")
		}
	}
	return nil
}

// check returns the errors in the definition of a recording: unit and labels must be those of its metric.
func (r Recording) check() error {
	d := r.As.Def()
	problems := []error{r.Expr.Err()}
	for _, label := range d.Labels {
		if !r.Expr.HasLabel(label) {
			problems = append(problems, fmt.Errorf("its series lack the label %s", label))
		}
	}
	if unit := r.Expr.Unit(); unit.Base != "" && unit != (expr.Unit{Base: d.Unit}) && unit != perSecond(d.Unit) {
		problems = append(problems, fmt.Errorf("it is in %s, its definition in %s", unit, d.Unit))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("recording %s: %w", d.Name, err)
	}
	return nil
}

// perSecond returns the unit of the rate of a metric.
func perSecond(u metric.Unit) expr.Unit {
	switch u {
	case metric.CountPerSecond:
		return expr.Unit{Base: metric.Count, PerSecond: true}
	case metric.Ratio, metric.Count: // seconds per second: a share of time, or how many at a time
		return expr.Unit{Base: metric.Seconds, PerSecond: true}
	default:
		return expr.Unit{Base: u}
	}
}
