package dashboards

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// inInstance renders the dashboards for a Prometheus that has the machine in instance.
func inInstance(t *testing.T) []File {
	t.Helper()
	names, err := expr.Names{}.WithHost("instance")
	if err != nil {
		t.Fatal(err)
	}
	files, err := FilesFor(Settings{Names: names})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEveryLegendAndFieldNamesTheOtherLabelOfTheMachine(t *testing.T) {
	own, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	legends := 0
	for i, f := range inInstance(t) {
		for _, left := range []string{"{{host}}", `host="`, string(hostSlot), `fields.host`, `labels.host`, `fields["host"]`, `labels["host"]`, `"options": "host"`, "label host"} {
			if strings.Contains(string(f.Content), left) || strings.Contains(string(f.Content), strings.ReplaceAll(left, `"`, `\"`)) {
				t.Errorf("%s: %s is left", f.Name, left)
			}
		}
		legends += strings.Count(string(own[i].Content), "{{host}}")
		var tree any
		if err := json.Unmarshal(f.Content, &tree); err != nil {
			t.Fatal(err)
		}
		if keys := keysIn(tree); slices.Contains(keys, "host") {
			t.Errorf("%s: a field is called host", f.Name)
		}
		if got, want := strings.Count(string(f.Content), `var-host`), strings.Count(string(own[i].Content), `var-host`); got != want {
			t.Errorf("%s: %d links choose a host, of %d", f.Name, got, want)
		}
	}
	if legends == 0 {
		t.Error("no legend of the own dashboards names the machine")
	}
}

// keysIn are all keys of a tree.
func keysIn(tree any) []string {
	var keys []string
	switch node := tree.(type) {
	case map[string]any:
		for key, value := range node {
			keys = append(append(keys, key), keysIn(value)...)
		}
	case []any:
		for _, value := range node {
			keys = append(keys, keysIn(value)...)
		}
	}
	return keys
}

func TestAColumnOfTheMachineIsTheFieldOfTheOtherLabel(t *testing.T) {
	b := board{keys: []key{{label: metric.LabelHost, title: "Host"}}, figures: []figure{{title: "Pool", expr: expr.Select(metric.MemoryPoolBytes)}}}
	content, err := json.Marshal(b.transformations())
	if err != nil {
		t.Fatal(err)
	}
	names, err := expr.Names{}.WithHost("instance")
	if err != nil {
		t.Fatal(err)
	}
	if got := filled(string(content), names); strings.Contains(got, `"host"`) || !strings.Contains(got, `"instance":"Host"`) {
		t.Error(got)
	}
}
