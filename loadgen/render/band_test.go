package render

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
)

func TestPagesHaveTheColoursOfTheLedger(t *testing.T) {
	var page strings.Builder
	if err := HTML(&page, Document{Title: "t"}); err != nil {
		t.Fatal(err)
	}
	for _, band := range ledger.Bands() {
		if want := "--" + band.Name + ": " + band.Colour + ";"; strings.Count(page.String(), "--"+band.Name+":") != 1 || !strings.Contains(page.String(), want) {
			t.Errorf("%s is not %s, or also another colour", band.Title, band.Colour)
		}
		for _, rule := range []string{".band-" + band.Name + " {", "i.band-" + band.Name + " {", ".screen .band-" + band.Name} {
			if !strings.Contains(page.String(), rule) {
				t.Errorf("%s has no rule %s", band.Title, rule)
			}
		}
	}
}
