package dashboards

//lint:file-ignore SA1019 as in page.go

import (
	"fmt"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// shared is a dashboard as Grafana exports it "for sharing externally", which is the form that grafana.com takes: the
// import asks for the data source, and warns of plugins that are missing.
type shared struct {
	Inputs   []input        `json:"__inputs"`
	Elements map[string]any `json:"__elements"` // library panels
	Requires []requirement  `json:"__requires"`
	dashboard.Dashboard
	ID *int64 `json:"id"` // null: the Grafana that imports it gives it one
}

// input is a choice of the person who imports. Its name in braces, as in ${DS_PROMETHEUS}, is replaced by the choice.
type input struct {
	Name        string `json:"name"`
	Label       string `json:"label"`
	Description string `json:"description"`
	Type        string `json:"type"`
	PluginID    string `json:"pluginId"`
	PluginName  string `json:"pluginName"`
}

// requirement is a part of Grafana that a dashboard needs.
type requirement struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

const (
	inputName = "DS_PROMETHEUS"
	// leastGrafana is the oldest version that the dashboards are for; the data source came with it.
	leastGrafana = "12.0.0"
)

// panelNames are the panel types in use, all part of Grafana itself, by the names that it shows.
var panelNames = map[string]string{
	"barchart": "Bar chart", "heatmap": "Heatmap", "stat": "Stat", "state-timeline": "State timeline", "table": "Table", "timeseries": "Time series",
}

// share gives a dashboard the form for sharing. As in Grafana's own exports, panels keep to the variable of the data source, and
// what was chosen at the import is the variable's value.
func share(built dashboard.Dashboard) (shared, error) {
	s := shared{
		Inputs:    []input{{Name: inputName, Label: "Prometheus", Type: "datasource", PluginID: "prometheus", PluginName: "Prometheus"}},
		Elements:  map[string]any{},
		Requires:  []requirement{{"grafana", "grafana", "Grafana", leastGrafana}, {"datasource", "prometheus", "Prometheus", leastGrafana}},
		Dashboard: built,
	}
	for _, kind := range panelTypes(built) {
		name, known := panelNames[kind]
		if !known {
			return s, fmt.Errorf("panels of type %s have no name in __requires", kind)
		}
		s.Requires = append(s.Requires, requirement{"panel", kind, name, ""})
	}
	s.Templating.List = slices.Clone(built.Templating.List)
	for i, v := range s.Templating.List {
		if v.Type == dashboard.VariableTypeDatasource {
			s.Templating.List[i].Current = &dashboard.VariableOption{
				Selected: cog.ToPtr(true),
				Text:     dashboard.StringOrArrayOfString{String: cog.ToPtr("")},
				Value:    dashboard.StringOrArrayOfString{String: cog.ToPtr("${" + inputName + "}")},
			}
		}
	}
	return s, nil
}

// panelTypes returns the types of all panels, those in rows too, each once and sorted.
func panelTypes(built dashboard.Dashboard) []string {
	var types []string
	for _, p := range built.Panels {
		if p.Panel != nil {
			types = append(types, p.Panel.Type)
		}
		if p.RowPanel != nil {
			for _, inRow := range p.RowPanel.Panels {
				types = append(types, inRow.Type)
			}
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}
