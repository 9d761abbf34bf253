package publish

import (
	"regexp"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// kindOfLabel maps the labels of series whose values identify a machine to their kind. The other labels of the
// vocabulary describe what was measured; labels outside of the vocabulary may hold anything.
func kindOfLabel() map[metric.Label]Kind {
	return map[metric.Label]Kind{
		metric.LabelHost: KindHost, metric.LabelUUID: KindUUID, metric.LabelMIGUUID: KindUUID,
		metric.LabelContainer: KindContainer, metric.LabelContainerID: KindContainer, metric.LabelPod: KindContainer, metric.LabelPodUID: KindUUID,
		metric.LabelNamespace: KindValue, metric.LabelCgroup: KindCgroup, metric.LabelParent: KindCgroup, metric.LabelPath: KindPath,
		metric.LabelAgent: KindValue, metric.LabelSource: KindAddress, metric.LabelReceiver: KindAddress, metric.LabelImage: KindImage, metric.LabelValue: KindValue,
		metric.LabelBaselineValue: KindValue, metric.LabelCandidateValue: KindValue, metric.LabelDetail: KindValue,
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

// secretName matches the names of labels and settings whose values are secrets.
var secretName = regexp.MustCompile(`(?i)(?:^|[_.-])(?:api_?key|key|token|secret|password|passwd|auth(?:orization)?|cookie|credentials?)$`)

// label cleans a label of a run.
func (c *cleaner) label(name, value string) string {
	switch {
	case name == string(metric.LabelHost):
		return c.identity(KindHost, value)
	case slices.Contains([]string{"user", "owner", "operator", "author"}, name):
		return c.identity(KindUser, value)
	case secretName.MatchString(name):
		return ""
	default:
		return c.text(value)
	}
}

// seriesLabel cleans a label of a series.
func (c *cleaner) seriesLabel(name, value string) string {
	kind, named := kindOfLabel()[metric.Label(name)]
	switch {
	case strings.Contains(name, "serial"):
		return c.identity(KindSerial, value)
	case !named && vocabulary()[name]:
		return c.text(value)
	case !named:
		return c.anything(value)
	case kind == KindAddress:
		return c.address(value)
	case kind == KindImage:
		return c.image(value)
	default:
		return c.identity(kind, value)
	}
}

// ShownFlags returns the flags of runs whose values describe what was measured and do not identify the machine; texts
// among the values are still scrubbed. Of other flags figures are kept and texts replaced; equal values stay equal.
func ShownFlags() []string {
	return []string{
		"model", "endpoint", "engine", "scenario", "prompts", "input-tokens", "output-tokens", "template", "arrival", "trace-unit", "trace-block-tokens", "stages", "set", "sampling",
		"expect", "slo", "validity", "telemetry", "scrape", "label", "extract", "log.level", "log.format", "log-level", "over", "search", "rate", "concurrency", "format",
	}
}

// flag cleans a flag of the command line that made the run.
func (c *cleaner) flag(name, value string) string {
	switch {
	case value == "" || plainFigure.MatchString(value):
		return value
	case name == "header" || name == "notify-url" || secretName.MatchString(name):
		return gone
	case name == "url":
		return eachOf(value, c.address)
	case name == "run-id":
		return c.run(value)
	case name == "container":
		return c.identity(KindContainer, value)
	case slices.Contains(ShownFlags(), name):
		return c.text(value)
	default:
		return c.anything(value)
	}
}

// eachOf cleans the value of a flag; of one that was given several times, each value, which is in brackets.
func eachOf(value string, clean func(string) string) string {
	list, several := strings.CutPrefix(value, "[")
	if !several {
		return clean(value)
	}
	values := strings.Split(strings.TrimSuffix(list, "]"), "] [")
	for i, one := range values {
		values[i] = clean(one)
	}
	return "[" + strings.Join(values, "] [") + "]"
}

// mounted cleans the source of a file system: a device, or an export of another machine.
func (c *cleaner) mounted(_, value string) string {
	if strings.HasPrefix(value, "/dev/") || !strings.ContainsAny(value, "/:@") {
		return c.text(value)
	}
	return c.identity(KindPath, value)
}

// mountOption cleans a mount option, whose value may name folders and machines.
func (c *cleaner) mountOption(_, value string) string {
	name, of, has := strings.Cut(value, "=")
	if !has {
		return c.text(value)
	}
	return c.text(name) + "=" + c.anything(of)
}
