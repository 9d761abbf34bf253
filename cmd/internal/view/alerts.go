package view

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// rule is an alerting rule with its definition.
type rule struct {
	*rules.AlertingRule
	alert    alerts.Alert
	severity alerts.Severity
	unit     expr.Unit // of its value
	active   []*rules.Alert
}

// rules returns the alerting rules: what fires first, then what is pending; the more urgent first.
func (v *viewer) rules() []rule {
	var all []rule
	for _, loaded := range v.database.rules.AlertingRules() {
		r := rule{AlertingRule: loaded, severity: alerts.Severity(loaded.Labels().Get(string(metric.LabelSeverity))), active: loaded.ActiveAlerts()}
		r.alert, _ = findAlert(loaded.Name())
		for _, defined := range r.alert.Rules {
			if defined.Severity == r.severity {
				r.unit = defined.Expr.Unit()
			}
		}
		slices.SortFunc(r.active, func(a, b *rules.Alert) int {
			return cmp.Or(cmp.Compare(b.State, a.State), b.ActiveAt.Compare(a.ActiveAt), cmp.Compare(a.Labels.String(), b.Labels.String()))
		})
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.State(), a.State()), cmp.Compare(a.urgency(), b.urgency()), cmp.Compare(a.Name(), b.Name()))
	})
	return all
}

// urgency orders rules, the most urgent first. One without a notice comes last.
func (r rule) urgency() int {
	order := []alerts.Severity{alerts.Critical, alerts.Warning, alerts.Info}
	if at := slices.Index(order, r.severity); at >= 0 {
		return at
	}
	return len(order)
}

// isForMachines reports whether people need not act on the rule.
func (r rule) isForMachines() bool { return r.severity == alerts.None }

func findAlert(name string) (alerts.Alert, bool) {
	for _, group := range alerts.Groups() {
		for _, a := range group.Alerts {
			if a.Name == name {
				return a, true
			}
		}
	}
	return alerts.Alert{}, false
}

// count returns how many alerts of people are in a state.
func count(all []rule, state rules.AlertState) (n int) {
	for _, r := range all {
		for _, a := range r.active {
			if a.State == state && !r.isForMachines() {
				n++
			}
		}
	}
	return n
}

// counts counts the alerts. Rules that are for programs, such as a dead man's switch, are counted apart: they fire where
// nothing is wrong.
func counts(all []rule) string {
	text := fmt.Sprintf("%d firing, %d pending, of %s", count(all, rules.StateFiring), count(all, rules.StatePending), plural(len(all), "rule"))
	machines := 0
	for _, r := range all {
		if r.isForMachines() && r.State() == rules.StateFiring {
			machines++
		}
	}
	if machines > 0 {
		text += fmt.Sprintf("; %s for programs also firing", plural(machines, "rule"))
	}
	return text + "."
}

// longID matches the whole id of a container.
var longID = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// shortIDs leaves of the ids of containers what docker ps shows.
func shortIDs(text string) string { return longID.ReplaceAllString(text, "$1") }

// plural counts something whose plural has an s.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// alertLine counts the alerts that fire, and links to them.
func (v *viewer) alertLine() render.Block {
	all := v.rules()
	firing, pending := count(all, rules.StateFiring), count(all, rules.StatePending)
	text := "No alert fires"
	if firing > 0 {
		text = plural(firing, "alert") + " fire"
		if firing == 1 {
			text += "s"
		}
	}
	spans := []render.Span{render.Link(text, alertsPath)}
	tone := render.Good
	named := map[string]bool{}
	for _, r := range all {
		if r.State() == rules.StateFiring && !r.isForMachines() {
			if tone != render.Bad {
				tone = render.Note
			}
			if r.severity != alerts.Info {
				tone = render.Bad
			}
			if !named[r.Name()] {
				named[r.Name()] = true
				spans = append(spans, render.Plain([]string{": ", ", "}[min(1, len(named)-1)]), render.Link(r.Name(), addressOfAlert(r.Name())))
			}
		}
	}
	if pending > 0 {
		spans = append(spans, render.Plain(fmt.Sprintf("; %d pending", pending)))
	}
	return render.Notice(tone, append(spans, render.Plain("."))...)
}

// alertsPage shows every rule.
func (v *viewer) alertsPage(w http.ResponseWriter, _ *http.Request) {
	all := v.rules()
	d := render.Document{Title: "Alerts", Pages: bar(alertsPath), RefreshSeconds: overviewRefresh}
	d.Add(render.Paragraph{Class: "lead", Spans: []render.Span{render.Plain(counts(all))}})
	for _, r := range all {
		d.Add(r.problem())
	}
	for _, state := range []rules.AlertState{rules.StateFiring, rules.StatePending} {
		cards := render.Group{Class: "cards"}
		for _, r := range all {
			if !r.isForMachines() {
				cards.Blocks = append(cards.Blocks, r.cards(state, true)...)
			}
		}
		if !cards.Empty() {
			d.Add(render.H2(title(state)), cards)
		}
	}
	table := render.Table{Header: []string{"Rule", "Meaning", "State", "Severity", "Fires after"}, Words: []int{1, 2, 3, 4}}
	for _, r := range all {
		tone := render.Tone("")
		if r.State() == rules.StateFiring && !r.isForMachines() {
			tone = render.Note
		}
		table.Rows = append(table.Rows, render.Row{Tone: tone, Address: addressOfAlert(r.Name()), Cells: []string{r.Name(), r.summary(), r.State().String(), string(r.severity), holds(r.HoldDuration())}})
	}
	d.Add(render.H2("All rules"), table, render.Small("Severity critical means now, warning today, info with the next routine check; none is for programs, such as a dead man’s switch."))
	v.write(w, http.StatusOK, d)
}

func title(state rules.AlertState) string {
	text := state.String()
	return strings.ToUpper(text[:1]) + text[1:]
}

func holds(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return model.Duration(d).String()
}

func (r rule) summary() string { return r.Annotations().Get("summary") }

// problem reports a rule that cannot be evaluated.
func (r rule) problem() render.Block {
	if err := r.LastError(); err != nil {
		return render.Notice(render.Bad, render.Strong(r.Name()), render.Plain(" cannot be evaluated: "+err.Error()))
	}
	return render.Paragraph{}
}

// severityTone is that of the badge of a severity.
func (r rule) severityTone() render.Tone {
	switch r.severity {
	case alerts.Critical:
		return render.Bad
	case alerts.Warning:
		return render.Note
	}
	return ""
}

// cards show the alerts of the rule in a state.
func (r rule) cards(state rules.AlertState, linked bool) []render.Block {
	var cards []render.Block
	for _, a := range r.active {
		if a.State != state {
			continue
		}
		name := render.Strong(r.Name())
		if linked {
			name = render.Link(r.Name(), addressOfAlert(r.Name()))
		}
		head := []render.Span{name, render.Badge(r.severityTone(), string(r.severity))}
		if mode := a.Labels.Get(string(metric.LabelMode)); mode != "" {
			head = append(head, render.Badge(render.Note, mode))
		}
		facts := render.Facts{Facts: []render.Fact{{Name: state.String() + " since", Value: since(a)}, {Name: "value", Value: formatValue(a.Value, r.unit)}}}
		ended := render.Block(render.P())
		if held := a.KeepFiringSince; !held.IsZero() {
			ended = render.Notice(render.Note, render.Plain("Its condition ended at "+held.UTC().Format(time.TimeOnly)+" UTC; the alert is held for "+holds(r.KeepFiringFor())+" after that."))
			facts.Facts[1].Value += ", its last"
		}
		a.Labels.Range(func(l labels.Label) {
			if l.Name != model.AlertNameLabel && l.Name != string(metric.LabelSeverity) && l.Name != string(metric.LabelMode) {
				facts.Facts = append(facts.Facts, render.Fact{Name: l.Name, Value: shortIDs(l.Value)})
			}
		})
		cards = append(cards, render.Group{Class: "card", Blocks: []render.Block{
			render.Paragraph{Class: "beside", Spans: head}, ended, render.P(render.Plain(shortIDs(a.Annotations.Get("description")))), facts,
		}})
	}
	return cards
}

// since returns when the alert entered its state.
func since(a *rules.Alert) string {
	at := a.ActiveAt
	if a.State == rules.StateFiring && !a.FiredAt.IsZero() {
		at = a.FiredAt
	}
	return at.UTC().Format(time.DateTime) + " UTC, for " + model.Duration(time.Since(at).Truncate(time.Second)).String()
}

// formatValue formats the value of an expression.
func formatValue(v float64, unit expr.Unit) string {
	text := format.Digits(v) + " " + unit.String()
	switch unit.Base {
	case metric.Count, metric.State, metric.Info:
		text = format.Digits(v)
	case metric.Bytes:
		text = format.Bytes(v)
	case metric.Seconds:
		text = format.Seconds(v)
	case metric.Ratio:
		text = format.Ratio(v)
	case metric.Celsius:
		text = format.Celsius(v)
	}
	if unit.PerSecond && (unit.Base == metric.Bytes || unit.Base == metric.Ratio) {
		text += " per second"
	}
	return strings.TrimSpace(text)
}

// alertPage shows a rule and its runbook.
func (v *viewer) alertPage(w http.ResponseWriter, r *http.Request) {
	defined, known := findAlert(r.PathValue("name"))
	if !known {
		v.absent(w, alertsPath, "No such alert", "There is no alert of this name.")
		return
	}
	d := render.Document{Title: defined.Name, Pages: bar(alertsPath), RefreshSeconds: overviewRefresh}
	d.Add(render.Paragraph{Class: "lead", Spans: []render.Span{render.Plain(defined.Summary)}})
	state, cards := rules.StateInactive, render.Group{Class: "cards"}
	var listed []render.Block
	for _, one := range v.rules() {
		if one.Name() == defined.Name {
			fires := alerts.Rule{Severity: one.severity, For: one.HoldDuration()}.Fires()
			listed = append(listed, render.P(render.Plain(fires+":")), render.Listing{Language: "promql", Text: one.Query().String()})
			state = max(state, one.State())
			d.Add(one.problem())
			cards.Blocks = append(cards.Blocks, append(one.cards(rules.StateFiring, false), one.cards(rules.StatePending, false)...)...)
		}
	}
	d.Add(render.P(render.Plain("It is "), render.Strong(state.String()), render.Plain(" now.")), cards)
	for _, part := range defined.Help() {
		d.Add(render.H3(part.Title), render.P(spans(part.Text)...))
	}
	d.Add(render.H2("Rules"))
	d.Add(listed...)
	v.write(w, http.StatusOK, d)
}

// marked is the Markdown that runbooks use inside of paragraphs.
var marked = regexp.MustCompile("`([^`]+)`|\\*+([^*\\s][^*]*)\\*+")

// spans returns the text of a runbook in its styles.
func spans(text string) []render.Span {
	var all []render.Span
	done := 0
	for _, m := range marked.FindAllStringSubmatchIndex(text, -1) {
		all = append(all, render.Plain(text[done:m[0]]))
		if m[2] >= 0 {
			all = append(all, render.Code(text[m[2]:m[3]]))
		} else {
			all = append(all, render.Strong(text[m[4]:m[5]]))
		}
		done = m[1]
	}
	return append(all, render.Plain(text[done:]))
}
