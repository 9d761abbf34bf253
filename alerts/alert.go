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
	Critical Severity = metric.SeverityCritical // now
	Warning  Severity = metric.SeverityWarning  // today
	Info     Severity = metric.SeverityInfo     // when something else is looked at
	None     Severity = metric.SeverityNone     // never: it is there for Alertmanager, which mutes others while it fires
)

// Group is the rules of one subject: one rule file.
type Group struct {
	Name string // of the file and the rule group
	// Every is how often the rules are evaluated, 0 for as often as Prometheus does by itself.
	Every time.Duration
	// Recordings are evaluated before the alerts, which may read them.
	Recordings []Recording
	Alerts     []Alert
}

// Recording keeps the value of an expression as a series of its own.
type Recording struct {
	As   metric.Gauge // of metric.Recorded
	Expr expr.Expr
}

// Alert is one thing that can be wrong.
type Alert struct {
	Name string
	// Summary is a sentence without templates.
	Summary string
	// Rules are the severities of the alert, most urgent last.
	Rules   []Rule
	Runbook Runbook
	// About says whose figures the rules read, and with it where their label mode comes from.
	About About
	// ExpectedInRuns says that a run on the host brings the state about on purpose: while one lasts,
	// Alertmanager keeps the warning and what is less to itself.
	ExpectedInRuns bool
	// Mutes is what Alertmanager keeps to itself while this alert fires.
	Mutes Mutes
}

// Mutes is what an alert keeps from being told, of its own host.
type Mutes int

// What an alert can mute.
const (
	MutesNothing  Mutes = iota
	MutesHost           // every other alert about the host: without its exporter none of them is news
	MutesExpected       // warnings and information that runs bring about on purpose
)

// About is whose figures an alert reads.
type About int

// What alerts are about.
const (
	AboutHost       About = iota // the machine as its exporter shows it now: one series per host
	AboutPart                    // a part of it: a GPU, a drive, a cgroup; any number of series per host
	AboutTarget                  // a host whose exporter may be gone: its mode is the last one seen, if any
	AboutRun                     // a finished run
	AboutLiveRun                 // a run that goes on, whatever exporter there is
	AboutComparison              // a saved comparison, of no one host
	AboutStack                   // the monitoring itself: of no host
)

// Rule is an alert at one severity.
type Rule struct {
	Severity Severity
	// Expr gives one series per host (or run, or comparison) that the rule fires for.
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

// URL is where the runbook of an alert is published.
func (a Alert) URL() string {
	return "https://github.com/umascope/umascope/blob/main/" + runbookPath + "#" + anchor(a.Name)
}

// check says what is wrong with an alert.
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

// check says what is wrong with a recording: it must give what its definition says.
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

// perSecond is the unit of an expression that a recorded rate has.
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
