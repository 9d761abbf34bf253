package alerts

import (
	"fmt"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

const (
	runbookName = "runbooks.md"
	// runbookFolder has a page for each group.
	runbookFolder = "runbooks/"
)

const generatedBy = "<!-- Written by uma-gen from package alerts; change it there. -->\n"

const runbookHead = generatedBy + `
# Runbooks

What each alert means, how to check it, and what to do. An alert whose label ` + "`mode`" + ` is not ` + "`live`" + `
is about a machine that is replayed, constructed or simulated: nothing real is wrong, and no notice is sent.
How to use the rules, who gets which notice, and what mutes what: [README.md](README.md).

Critical means now, warning today, info when you look at something else anyway; alerts of severity none exist for
Alertmanager. An alert waits as long as its state must hold before it fires, and stays after the state has ended.
`

// runbooks renders the contents, by group and severity, and a page for each group.
func runbooks(groups []Group) []File {
	var contents strings.Builder
	contents.WriteString(runbookHead)
	files := []File{{Name: runbookName}}
	for _, group := range groups {
		group.contents(&contents)
		files = append(files, File{Name: group.runbookPath(), Content: group.page()})
	}
	files[0].Content = []byte(contents.String())
	return files
}

// file is the name of the rule file.
func (g Group) file() string { return g.Name + ".yaml" }

// runbookPath is the path of the group's page below alerts.
func (g Group) runbookPath() string { return runbookFolder + g.Name + ".md" }

// contents lists the alerts of a group, if it has any.
func (g Group) contents(b *strings.Builder) {
	if len(g.Alerts) == 0 {
		return
	}
	page := g.runbookPath()
	fmt.Fprintf(b, "\n[%s](%s)\n\n| Alert | Meaning | Severity | Waits | Stays |\n|---|---|---|---|---|\n", g.file(), page)
	for _, a := range g.Alerts {
		for i, r := range a.Rules {
			name, summary := "", ""
			if i == 0 {
				name, summary = fmt.Sprintf("[%s](%s#%s)", a.Name, page, strings.ToLower(a.Name)), a.Summary
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", name, summary, r.Severity, orDash(r.For), orDash(r.KeepFiringFor))
		}
	}
}

func orDash(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return duration(d)
}

// page renders the recordings of a group, and its alerts.
func (g Group) page() []byte {
	var b strings.Builder
	b.WriteString(generatedBy)
	fmt.Fprintf(&b, "\n# Runbooks of %s\n\nRules: [%s](../%s). [All alerts](../%s).\n", g.file(), g.file(), g.file(), runbookName)
	if len(g.Recordings) > 0 {
		b.WriteString("\nRecords, for alerts and panels:\n\n")
	}
	for _, r := range g.Recordings {
		d := r.As.Def()
		fmt.Fprintf(&b, "- `%s`: %s\n", d.Name, d.Help)
	}
	for _, a := range g.Alerts {
		a.section(&b)
	}
	return []byte(b.String())
}

// section renders one alert.
func (a Alert) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", a.Name, a.Summary)
	for i, part := range a.Help() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "**%s.** %s\n", part.Title, part.Text)
	}
	for _, rule := range a.Rules {
		fmt.Fprintf(b, "\n%s:\n\n```promql\n%s\n```\n", rule.Fires(), rule.Expr)
	}
}

// Part is a part of the help for an alert, in one paragraph of Markdown.
type Part struct{ Title, Text string }

// Help returns the runbook of the alert, and how the notices of it differ from those of others.
func (a Alert) Help() []Part {
	parts := []Part{{"Meaning", a.Runbook.Meaning}, {"Check", a.Runbook.Check}, {"Do", a.Runbook.Action}}
	if notifications := a.notifications(); notifications != "" {
		parts = append(parts, Part{"Alertmanager", notifications})
	}
	return parts
}

// Fires describes when the rule fires, for the expression that follows.
func (r Rule) Fires() string { return fmt.Sprintf("Fires as %s %s", r.Severity, lasting(r)) }

// told describes how the notifications of this alert differ from those of others.
func (a Alert) notifications() string {
	switch {
	case a.Mutes == MutesHost:
		return "While this fires, no other notice about the host is sent."
	case a.Mutes == MutesExpected:
		return "While this fires, no notice of severity warning or info is sent about what runs bring about on purpose."
	case a.ExpectedInRuns:
		return "Runs bring this about on purpose: while one lasts on the host, only critical notices are sent."
	case a.repeats():
		return "This is about figures that do not change any more: the notice is repeated after " + duration(repeatResult) + ", not after " + duration(repeatState) + "."
	default:
		return ""
	}
}

// lasting describes when the rule fires.
func lasting(rule Rule) string {
	if rule.For == 0 {
		return "as soon as this holds"
	}
	return "when this has held for " + duration(rule.For)
}

// called formats the name of a family for runbooks.
func called(d metric.Definer) string { return "`" + d.Def().Name + "`" }
