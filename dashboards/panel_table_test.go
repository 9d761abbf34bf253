package dashboards

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

// Grafana writes the text for no data into every cell and every figure of a legend that has no value.
func TestTheTextForNoDataIsOfTheWholePanelOnly(t *testing.T) {
	forPanels(t, func(t *testing.T, p renderedPanel) {
		if p.Type != "table" && p.Type != "timeseries" && p.Type != "barchart" {
			return
		}
		for _, o := range p.FieldConfig.Overrides {
			var properties []struct{ ID, Value string }
			if o.Matcher.ID == "byRegexp" && o.Matcher.Options == "/.*/" && json.Unmarshal(o.Properties, &properties) == nil &&
				len(properties) == 1 && properties[0].ID == "noValue" && properties[0].Value == "" {
				return
			}
		}
		t.Errorf("a value that is not there reads %q", p.FieldConfig.Defaults.NoValue)
	})
}

func TestColumnsOfATableFitALaptop(t *testing.T) {
	forPanels(t, func(t *testing.T, p renderedPanel) {
		if least := p.FieldConfig.Defaults.Custom.MinWidth; p.Type == "table" && (least == 0 || least > 100) {
			t.Errorf("columns are at least %v pixels wide", least)
		}
	})
}

func TestTextsOfATableWrap(t *testing.T) {
	forPanels(t, func(t *testing.T, p renderedPanel) {
		custom := p.FieldConfig.Defaults.Custom
		if table := p.Type == "table"; custom.WrapText != table || custom.WrapHeaderText != table {
			t.Errorf("a %s wraps texts: %v, titles: %v", p.Type, custom.WrapText, custom.WrapHeaderText)
		}
	})
}

func TestATableWithALabelThatHasNoColumnIsRefused(t *testing.T) {
	b := board{title: "x", means: "x.", wrong: "x.", noData: "x", keys: []key{{label: metric.LabelHost, title: "Host"}},
		figures: []figure{{title: "Clock", expr: each(metric.GPUSMClockHertz)}}}
	if _, err := list(b).Build(); err == nil || !strings.Contains(err.Error(), "label uuid of Clock is no key") {
		t.Errorf("built: %v", err)
	}
	b.keys = append(b.keys, key{label: metric.LabelUUID, title: "GPU"})
	if _, err := list(b).Build(); err != nil {
		t.Error(err)
	}
}
