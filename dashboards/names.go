package dashboards

import (
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// The label of the machine is called host here and something else in another Prometheus. Panels are built once, with a
// slot wherever the label is named; it is filled when a page is written. The slot is a character for private use, which
// occurs in no text.
const hostSlot = '\uE000'

// hostName is the label of the machine in a text for people.
const hostName = string(hostSlot)

// No query of a dashboard names the exporters, so that their slot is never seen.
var slots = expr.Slots(hostSlot, hostSlot)

// queryText is the text of an expression, with slots.
func queryText(e expr.Expr) string { return e.Named(slots) }

// labelName is the name of a label, with slots: that of a field, or in the query of a variable.
func labelName(l metric.Label) string { return slots.Label(l) }

// labelsNamed is a text that names labels in double braces, such as a legend, with slots.
func labelsNamed(text string) string {
	return strings.ReplaceAll(text, "{{"+string(metric.LabelHost)+"}}", "{{"+labelName(metric.LabelHost)+"}}")
}

// filled fills the slots of a page. Names of labels need no escapes in JSON.
func filled(page string, n expr.Names) string {
	return strings.ReplaceAll(page, string(hostSlot), n.Label(metric.LabelHost))
}
