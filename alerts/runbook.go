package alerts

import (
	"fmt"
	"strings"
)

const (
	runbookName = "runbooks.md"
	runbookPath = "alerts/" + runbookName
)

// anchor is the fragment that GitHub gives a heading of one word.
func anchor(heading string) string { return strings.ToLower(heading) }

// runbook renders one section per alert, with the rules as they are.
func runbook(groups []Group) []byte {
	var b strings.Builder
	b.WriteString("<!-- Written by uma-gen from package alerts; change it there. -->\n\n# Runbooks\n\n" +
		"What each alert means, how to see it for oneself, and what to do. An alert whose label `mode` is not `live`\n" +
		"is about a machine that is replayed, constructed or simulated: nothing real is wrong.\n")
	for _, group := range groups {
		for _, alert := range group.Alerts {
			alert.section(&b)
		}
	}
	return []byte(b.String())
}

// section renders one alert.
func (a Alert) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", a.Name, a.Summary)
	fmt.Fprintf(b, "**Meaning.** %s\n\n**Check.** %s\n\n**Do.** %s\n", a.Runbook.Meaning, a.Runbook.Check, a.Runbook.Action)
	for _, rule := range a.Rules {
		fmt.Fprintf(b, "\nFires as %s %s:\n\n```promql\n%s\n```\n", rule.Severity, lasting(rule), rule.Expr)
	}
}

// lasting says when the rule fires.
func lasting(rule Rule) string {
	if rule.For == 0 {
		return "as soon as this holds"
	}
	return "when this has held for " + duration(rule.For)
}
