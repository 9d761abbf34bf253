package spec

import (
	"maps"
	"slices"
	"strings"
)

// Page is a parsed page of metrics: its series by their name. Its zero value is an empty one.
//
// A histogram or summary x has x_sum and x_count. Values that are not finite numbers are left out, and so are the series
// ending in _created that some client libraries add. A duplicate series counts once.
type Page map[string][]Series

// Series is one value.
type Series struct {
	Labels map[string]string
	Value  float64
}

// Label selects the series whose label Name has this value. A label that a series lacks is empty.
type Label struct{ Name, Value string }

// Families lists the names that owns accepts, in order; for a histogram or summary only its own name.
func (p Page) Families(owns func(name string) bool) []string {
	found := map[string]bool{}
	for name := range p {
		if family := p.Family(name); owns(family) {
			found[family] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Family is the name of the family of a series: x of x_sum and x_count, if the page has both.
func (p Page) Family(name string) string {
	for _, end := range []string{"_sum", "_count"} {
		if family, has := strings.CutSuffix(name, end); has && p[family+"_sum"] != nil && p[family+"_count"] != nil {
			return family
		}
	}
	return name
}

// Series returns the series of a name that have all these labels, in the order of the page.
func (p Page) Series(name string, match ...Label) []Series {
	var found []Series
	for _, one := range p[name] {
		if matches(one.Labels, match) {
			found = append(found, one)
		}
	}
	return found
}

func matches(labels map[string]string, match []Label) bool {
	return !slices.ContainsFunc(match, func(l Label) bool { return labels[l.Name] != l.Value })
}

// Labels that several engines write: of a model, and of the kind of engine.
const (
	LabelModel      = "model"
	LabelModelName  = "model_name"
	LabelEngineType = "engine_type"
)

// Paths that several engines serve: the list of models, a version, and a description of the API.
const (
	ModelsPath  = "/v1/models"
	VersionPath = "/version"
	OpenAPIPath = "/openapi.json"
)

// SimulatedSuffix ends the owner name of the models of a simulated engine, such as umascope's own.
const SimulatedSuffix = "-simulated"

// ExportedPrefix is prepended to a label of a page whose name has another meaning here, as Prometheus does it.
const ExportedPrefix = "exported_"
