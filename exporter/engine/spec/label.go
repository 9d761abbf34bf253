package spec

import (
	"maps"
	"slices"
	"strings"
)

// Labels are the labels that an engine writes on its series, by meaning. A label that is in neither list was added
// by something else: the client library (pid), a proxy or a scraper (instance, server).
type Labels struct {
	// Replica are the labels that number the replicas of the engine: gauges that differ in them add up.
	Replica []string
	// Others split a count, name the model, or number ranks that see the same requests.
	Others []string
}

// replicaOf returns a key of the replica that a series belongs to.
func (r Labels) replicaOf(one Series) string {
	var key strings.Builder
	for _, label := range r.Replica {
		key.WriteString(one.Labels[label] + "\xff")
	}
	return key.String()
}

// separating names the labels, other than a replica's, in which series differ.
func (r Labels) separating(series []Series) string {
	names := map[string]bool{}
	for _, one := range series {
		for _, labels := range []map[string]string{one.Labels, series[0].Labels} {
			for name := range labels {
				if one.Labels[name] != series[0].Labels[name] && !slices.Contains(r.Replica, name) {
					names[ShortText(name)] = true
				}
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// MaxUnknownLabels is the maximum number of unknown labels that are named.
const MaxUnknownLabels = 20

// unknown lists the labels on these families that the engine does not write. The labels of an info family are values,
// not identity. Added are the labels of programs that pass the series on.
func (r Labels) unknown(page Page, families, added []string) []string {
	known := slices.Concat(r.Replica, r.Others, added)
	names := map[string]bool{}
	for _, family := range families {
		if strings.HasSuffix(family, "_info") {
			continue
		}
		for _, one := range slices.Concat(page.Series(family), page.Series(family+"_sum")) {
			for name, value := range one.Labels {
				if value != "" && !slices.Contains(known, name) {
					names[ShortText(name)] = true
				}
			}
		}
	}
	found := slices.Sorted(maps.Keys(names))
	return found[:min(len(found), MaxUnknownLabels)]
}
