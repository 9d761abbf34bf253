package runner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
)

// colourOf256 is a colour of xterm's palette, by its formulas.
func colourOf256(number int) [3]int {
	if number >= 232 {
		grey := 8 + 10*(number-232)
		return [3]int{grey, grey, grey}
	}
	level := func(i int) int {
		if i == 0 {
			return 0
		}
		return 55 + 40*i
	}
	number -= 16
	return [3]int{level(number / 36), level(number / 6 % 6), level(number % 6)}
}

func TestTerminalsHaveTheTitlesAndTheColoursOfTheLedger(t *testing.T) {
	lines, drawn := ledger.Ledger{}, map[int]string{}
	for i, name := range ledger.Names() {
		lines[name] = float64(i+1) * (1 << 30)
	}
	_, legend := Machine{LedgerBytes: lines}.memory(120)
	if len(legend) != len(ledger.Bands()) {
		t.Fatalf("%d bands are drawn", len(legend))
	}
	for i, band := range ledger.Bands() {
		if text := legend[i][1].Text; !strings.HasSuffix(text, " "+band.Title) || strings.TrimSpace(bandMark(band.Name)) == "" {
			t.Errorf("%s is called %q", band.Title, text)
		}
		var number int
		if n, err := fmt.Sscanf(styleCode(legend[i][0].Style), "38;5;%d", &number); n != 1 || err != nil || drawn[number] != "" {
			t.Errorf("%s has the style %q, as %q", band.Title, styleCode(legend[i][0].Style), drawn[number])
		}
		drawn[number] = band.Title
		var want [3]int
		fmt.Sscanf(band.Colour, "#%02x%02x%02x", &want[0], &want[1], &want[2])
		for j, got := range colourOf256(number) {
			if off := got - want[j]; off < -40 || off > 40 {
				t.Errorf("%s is %v instead of %v", band.Title, colourOf256(number), want)
			}
		}
	}
}
