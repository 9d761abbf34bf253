package publish

import (
	"regexp"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// kindOfLabel maps the labels of series whose values identify a machine to their kind. The other labels of the
// vocabulary describe what was measured; labels outside of the vocabulary may hold anything.
func kindOfLabel() map[metric.Label]kind {
	return map[metric.Label]kind{
		metric.LabelHost: kindHost, metric.LabelUUID: kindUUID, metric.LabelMIGUUID: kindUUID,
		metric.LabelContainer: kindContainer, metric.LabelContainerID: kindContainer, metric.LabelPod: kindContainer, metric.LabelPodUID: kindUUID,
		metric.LabelNamespace: kindValue, metric.LabelCgroup: kindCgroup, metric.LabelParent: kindCgroup, metric.LabelPath: kindPath,
		metric.LabelAgent: kindValue, metric.LabelSource: "url", metric.LabelReceiver: "url", metric.LabelImage: "image", metric.LabelValue: kindValue,
		metric.LabelBaselineValue: kindValue, metric.LabelCandidateValue: kindValue, metric.LabelDetail: kindValue,
	}
}

// vocabulary returns all known labels of series.
func vocabulary() map[string]bool {
	known := map[string]bool{"__name__": true}
	for _, definer := range slices.Concat(metric.All(), metric.Foreign()) {
		for _, label := range definer.Def().Labels {
			known[string(label)] = true
		}
	}
	return known
}

// secretName matches the names of settings whose values are secrets.
var secretName = regexp.MustCompile(`(?i)(?:^|[_.-])(?:api_?key|key|token|secret|password|passwd|auth(?:orization)?|cookie|credentials?)$`)

// seriesLabel returns what goes in of a label of a series.
func (n *names) seriesLabel(name, value string) string {
	of, named := kindOfLabel()[metric.Label(name)]
	switch {
	case strings.Contains(name, "serial"):
		return n.name(kindSerial, value)
	case named:
		return n.text(string(of), "", value)
	case n.vocabulary[name]:
		return n.word(kindValue, value)
	default:
		return n.hidden(value)
	}
}

// hidden returns a figure, and replaces any other text.
func (n *names) hidden(value string) string {
	if plainFigure.MatchString(value) {
		return value
	}
	return n.name(kindValue, value)
}

// Labels returns the labels of runs that a pack shows without being asked for: those that campaigns and ready plans set.
func Labels() []string {
	return []string{"arm", "campaign", "engine", "environment", "kv", "kv_mode", "model", "options", "pair", "scenario"}
}

// label returns what goes in of a label of a run. Labels that are compared show their values; of others equal values
// stay equal.
func (n *names) label(name, value string) string {
	switch {
	case name == string(metric.LabelHost):
		return n.name(kindHost, value)
	case n.shown[name]:
		return n.word(kind(name), value)
	default:
		return n.hidden(value)
	}
}

// flag returns what goes in of a flag of the command line that made the run. Some flags take words that describe the
// load; of others figures go in, and equal values stay equal.
func (n *names) flag(name, value string) string {
	shown := []string{
		"model", "url", "endpoint", "engine", "scenario", "input-tokens", "output-tokens", "template", "arrival", "trace-unit", "trace-block-tokens", "stages", "set", "sampling",
		"expect", "slo", "validity", "telemetry", "scrape", "over", "search", "rate", "concurrency", "format", "prompts", "log.level", "log.format",
	}
	file := (name == "prompts" || name == "template") && strings.Contains(value, "/")
	if slices.Contains(shown, name) && !file {
		return n.word(kindValue, value)
	}
	return n.hidden(value)
}
