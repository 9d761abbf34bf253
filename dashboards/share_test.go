package dashboards

//lint:file-ignore SA1019 as in page.go

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// sharedFiles are the dashboards for sharing, as trees, beside those that are provisioned.
func sharedFiles(t *testing.T) (sharing, provisioned []map[string]any) {
	t.Helper()
	read := func(s Settings) []map[string]any {
		files, err := FilesFor(s)
		if err != nil {
			t.Fatal(err)
		}
		var all []map[string]any
		for _, f := range files {
			var tree map[string]any
			if err := json.Unmarshal(f.Content, &tree); err != nil {
				t.Fatal(err)
			}
			all = append(all, tree)
		}
		return all
	}
	return read(Settings{Shared: true}), read(Settings{})
}

func TestASharedDashboardAsksForItsDataSourceAndNamesWhatItNeeds(t *testing.T) {
	all, _ := sharedFiles(t)
	for _, d := range all {
		inputs, _ := json.Marshal(d["__inputs"])
		if want := `[{"description":"","label":"Prometheus","name":"DS_PROMETHEUS","pluginId":"prometheus","pluginName":"Prometheus","type":"datasource"}]`; string(inputs) != want {
			t.Errorf("%s: inputs %s", d["title"], inputs)
		}
		if id, has := d["id"]; !has || id != nil {
			t.Errorf("%s: id %v", d["title"], id)
		}
		required := map[string]bool{}
		for _, one := range d["__requires"].([]any) {
			r := one.(map[string]any)
			key := r["type"].(string) + " " + r["id"].(string)
			if required[key] || r["name"] == "" || r["version"] == nil {
				t.Errorf("%s requires %v", d["title"], r)
			}
			required[key] = true
		}
		want := map[string]bool{"grafana grafana": true, "datasource prometheus": true}
		for _, kind := range typesIn(d["panels"]) {
			want["panel "+kind] = true
		}
		if !maps.Equal(required, want) {
			t.Errorf("%s requires %v, want %v", d["title"], slices.Sorted(maps.Keys(required)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// typesIn are the types of panels, of those in rows too.
func typesIn(panels any) []string {
	var types []string
	list, _ := panels.([]any)
	for _, one := range list {
		p := one.(map[string]any)
		if p["type"] != "row" {
			types = append(types, p["type"].(string))
		}
		types = append(types, typesIn(p["panels"])...)
	}
	return types
}

// TestAnImportGivesTheProvisionedDashboardWithTheChosenDataSource does what Grafana does at an import: the name of an input in
// braces is replaced in every text, and __inputs is dropped (pkg/services/dashboardimport).
func TestAnImportGivesTheProvisionedDashboardWithTheChosenDataSource(t *testing.T) {
	all, provisioned := sharedFiles(t)
	for i, d := range all {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var imported map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "${DS_PROMETHEUS}", "chosen")), &imported); err != nil {
			t.Fatal(err)
		}
		chosen := 0
		for _, one := range imported["templating"].(map[string]any)["list"].([]any) {
			v := one.(map[string]any)
			if current, _ := v["current"].(map[string]any); v["type"] == "datasource" && v["name"] == "datasource" && current["value"] == "chosen" {
				chosen++
				delete(v, "current")
			}
		}
		if chosen != 1 {
			t.Errorf("%s: %d variables have the chosen data source", d["title"], chosen)
		}
		for _, key := range []string{"__inputs", "__elements", "__requires", "id"} {
			delete(imported, key)
		}
		if !reflect.DeepEqual(imported, provisioned[i]) {
			t.Errorf("%s: the import differs in more than the data source", d["title"])
		}
	}
}

func TestAPanelInARowIsRequiredToo(t *testing.T) {
	inRow, err := table.NewPanelBuilder().Build()
	if err != nil {
		t.Fatal(err)
	}
	built := dashboard.Dashboard{Panels: []dashboard.PanelOrRowPanel{{RowPanel: &dashboard.RowPanel{Panels: []dashboard.Panel{inRow}}}}}
	s, err := share(built)
	if err != nil || s.Requires[len(s.Requires)-1] != (requirement{"panel", "table", "Table", ""}) {
		t.Errorf("%v, %v", s.Requires, err)
	}
	built.Panels[0].RowPanel.Panels[0].Type = "of a plugin"
	if _, err := share(built); err == nil {
		t.Error("a panel of an unknown type is shared without its name")
	}
}
