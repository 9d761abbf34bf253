package telemetry

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// parseForeign reads the page of an engine or a KV block manager, such as
//
//	# TYPE kvbm_onboard_blocks_d2d counter
//	kvbm_onboard_blocks_d2d 1042
//
// and returns the series with their name prefixes, in the order of the prefixes' importance: at the limit, the later
// ones are dropped. Of histograms and summaries it keeps only sum and count, and it drops creation times of counters.
// Each series gets the label source, like every series read from an endpoint; a label of that name on the page is
// renamed.
func parseForeign(page []byte, source string, engines spec.Engines) ([]observation, error) {
	found, err := families(page)
	if err != nil {
		return nil, err
	}
	ranks, prefixes := map[string]int{}, pagePrefixes(engines)
	var names []string
	for name := range found {
		if rank := rankOf(prefixes, name); rank >= 0 && !isCreationTime(name, found) {
			ranks[name] = rank
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(ranks[a], ranks[b]), strings.Compare(a, b)) })
	var observations []observation
	seen, first := map[string]bool{}, engines.CacheSeries()
	for _, name := range names {
		var of []observation
		for _, m := range found[name].GetMetric() {
			for _, o := range observeForeign(name, m) {
				// A series may come twice, also if a counter has the name of a histogram's count.
				if o = from(source, o); !seen[o.key] {
					seen[o.key] = true
					o.first = slices.Contains(first, o.name)
					of = append(of, o)
				}
			}
		}
		slices.SortFunc(of, func(a, b observation) int { return cmp.Compare(a.key, b.key) })
		observations = append(observations, of...)
	}
	return observations, nil
}

// isCreationTime reports whether a gauge only holds the time at which a counter, a histogram or a summary began to
// count. Python's client writes such a gauge for each of them: a third of a page of vLLM, which would take the room of
// useful series.
func isCreationTime(name string, found map[string]*dto.MetricFamily) bool {
	of, is := strings.CutSuffix(name, "_created")
	return is && (found[of] != nil || found[of+"_total"] != nil)
}

// pagePrefixes are the prefixes of the series of engines and KV block managers, in the order of their importance to a run:
// these series of a page are kept.
func pagePrefixes(engines spec.Engines) []string {
	return append(engines.TransferPrefixes(), engines.PagePrefixes()...)
}

// rankOf returns the rank of a name's prefix; negative if the name has none of them.
func rankOf(prefixes []string, name string) int {
	return slices.IndexFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func observeForeign(name string, m *dto.Metric) []observation {
	var sum, count float64
	switch {
	case m.Histogram != nil:
		sum, count = m.GetHistogram().GetSampleSum(), float64(m.GetHistogram().GetSampleCount())
	case m.Summary != nil:
		sum, count = m.GetSummary().GetSampleSum(), float64(m.GetSummary().GetSampleCount())
	default:
		o, ok := observe(name, m)
		if !ok {
			return nil
		}
		o.counter = m.Counter != nil
		return []observation{o}
	}
	o, ok := observe(name+"_count", &dto.Metric{Label: m.Label, Counter: &dto.Counter{Value: &count}})
	if !ok {
		return nil
	}
	o.counter = true
	both := []observation{o}
	if !math.IsNaN(sum) && !math.IsInf(sum, 0) {
		// A sum of a histogram may fall if what it observes can be negative; engines observe times and
		// lengths.
		both = append(both, observation{name: name + "_sum", labels: o.labels, value: sum, counter: true})
	}
	return both
}

// from adds the source to a series.
func from(source string, o observation) observation {
	labels := make(map[string]string, len(o.labels)+1)
	for name, value := range o.labels {
		if name == string(metric.LabelSource) {
			name = spec.ExportedPrefix + name
		}
		labels[name] = value
	}
	labels[string(metric.LabelSource)] = source
	o.labels, o.key = labels, seriesKey(o.name, labels)
	return o
}

// publicSource returns host:port/path of an address: the part without secrets.
func publicSource(address string) string {
	page, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return page.Host + page.Path
}
