package dashboards

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
)

// drawnSeries is a series of a panel under its name, in its fixed colour.
type drawnSeries struct{ title, colour string }

// seriesInColours returns the series of a panel that have a fixed colour which is not one of Grafana's names, in order.
func seriesInColours(t *testing.T, file, panel string) []drawnSeries {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Panels []struct {
			Title       string
			FieldConfig struct {
				Overrides []struct {
					Matcher    struct{ Options any }
					Properties []struct{ Value any }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatal(err)
	}
	var drawn []drawnSeries
	for _, p := range page.Panels {
		if p.Title != panel {
			continue
		}
		for _, override := range p.FieldConfig.Overrides {
			for _, property := range override.Properties {
				value, _ := property.Value.(map[string]any)
				if colour, _ := value["fixedColor"].(string); strings.HasPrefix(colour, "#") {
					drawn = append(drawn, drawnSeries{override.Matcher.Options.(string), colour})
				}
			}
		}
	}
	return drawn
}

func TestDashboardsHaveTheTitlesAndTheColoursOfTheLedger(t *testing.T) {
	var lines, bands []drawnSeries
	for _, kind := range ledger.Kinds() {
		lines = append(lines, drawnSeries{kind.Title, kind.Colour})
	}
	for _, band := range ledger.Bands() {
		bands = append(bands, drawnSeries{band.Title, band.Colour})
	}
	for _, c := range []struct {
		file, panel string
		want        []drawnSeries
	}{{"unified-memory.json", "Ledger of the pool", lines}, {"overview.json", "Where the memory is", bands}, {"unified-memory.json", "Memory now", bands}} {
		if got := seriesInColours(t, c.file, c.panel); !slices.Equal(got, c.want) {
			t.Errorf("%s: got  %v\nwant %v", c.panel, got, c.want)
		}
	}
}
