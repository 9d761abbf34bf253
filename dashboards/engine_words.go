package dashboards

import (
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
)

// namesOf joins the titles of engines.
func namesOf(is func(spec.Engine) bool) string {
	var titles []string
	for _, e := range supported.Engines() {
		if is(e) {
			titles = append(titles, e.Title)
		}
	}
	return strings.Join(titles, " and ")
}

// keptIsFree names the engines where blocks that are kept for reuse only count as free.
func keptIsFree() string {
	return "What is kept for reuse only counts as free in " + namesOf(func(e spec.Engine) bool { return e.Metrics.KeptIsFree }) + "."
}

// preempted lists what engines call the requests that lose their place for lack of KV cache.
func preempted() string {
	var words []string
	for _, e := range supported.Engines() {
		if word := e.Metrics.Preempted; word != "" {
			words = append(words, word+" of "+e.Title)
		}
	}
	return strings.Join(words, ", ")
}

// countsPreempted lists the engines that count them.
func countsPreempted() string {
	var words []string
	for _, e := range supported.Engines() {
		switch {
		case e.Metrics.Preempted == "":
		case e.Metrics.PreemptedLate:
			words = append(words, e.Title+" from the first on")
		default:
			words = append(words, e.Title+" does")
		}
	}
	return strings.Join(words, ", ")
}

// countsBytes lists the engines that report bytes of KV cache.
func countsBytes() string {
	if some := namesOf(func(e spec.Engine) bool { return e.Metrics.Bytes == spec.BytesIfSet }); some != "" {
		return some + " does where they were set, " + namesOf(func(e spec.Engine) bool { return e.Metrics.Bytes == spec.BytesAlways }) + " do"
	}
	return namesOf(func(e spec.Engine) bool { return e.Metrics.Bytes == spec.BytesAlways }) + " do"
}
