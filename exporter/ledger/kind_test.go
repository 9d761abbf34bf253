package ledger

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestEveryLineIsInOneBandInOrderUnderANameAndAColourOfItsOwn(t *testing.T) {
	var lines []string
	for _, band := range Bands() {
		lines = append(lines, band.Lines...)
		if !slices.ContainsFunc(band.Lines, func(line string) bool { return Named(line).Colour == band.Colour }) {
			t.Errorf("%s is %s, as no line of it", band.Name, band.Colour)
		}
		if len(band.Lines) == 1 && band.Title != Named(band.Lines[0]).Title {
			t.Errorf("%s and its line have two titles", band.Title)
		}
	}
	if !slices.Equal(lines, Names()) {
		t.Errorf("got  %v\nwant %v", lines, Names())
	}
	titles, colours := map[string]bool{}, map[string]bool{}
	for _, kind := range Kinds() {
		if kind.Title == "" || kind.Formula == "" || titles[kind.Title] || colours[kind.Colour] {
			t.Errorf("%+v: incomplete, or as another", kind)
		}
		titles[kind.Title], colours[kind.Colour] = true, true
	}
}

// Kinds of sight: how linear red, green and blue appear to people who see all colours, and without red, green and blue
// cones (Machado, Oliveira and Fernandes 2009, severity 1).
var sights = map[string][3][3]float64{
	"all colours":  {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}},
	"deuteranopia": {{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.011820, .042940, .968881}},
	"tritanopia":   {{1.255528, -.076749, -.178779}, {-.078411, .930809, .147602}, {.004733, .691367, .303900}},
}

// linear returns the linear red, green and blue of a colour, 0 to 1 (IEC 61966-2-1).
func linear(t *testing.T, colour string) (rgb [3]float64) {
	t.Helper()
	var bytes [3]uint8
	if n, err := fmt.Sscanf(colour, "#%02x%02x%02x", &bytes[0], &bytes[1], &bytes[2]); n != 3 || err != nil {
		t.Fatalf("%q is no colour: %v", colour, err)
	}
	for i, b := range bytes {
		v := float64(b) / 255
		if rgb[i] = v / 12.92; v > .04045 {
			rgb[i] = math.Pow((v+.055)/1.055, 2.4)
		}
	}
	return rgb
}

// lab returns lightness and colour as they appear (CIELAB, D65).
func lab(rgb [3]float64, sight [3][3]float64) [3]float64 {
	seen := [3]float64{}
	for i, row := range sight {
		seen[i] = min(1, max(0, row[0]*rgb[0]+row[1]*rgb[1]+row[2]*rgb[2]))
	}
	f := func(v float64) float64 {
		if v > .008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16./116
	}
	r, g, b := seen[0], seen[1], seen[2]
	x, y, z := f((.4124*r+.3576*g+.1805*b)/.95047), f(.2126*r+.7152*g+.0722*b), f((.0193*r+.1192*g+.9505*b)/1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// difference is the smallest difference of two colours over all kinds of sight (CIE 1976; about 2 can just be seen).
func difference(t *testing.T, a, b string) (smallest float64, by string) {
	t.Helper()
	smallest = math.Inf(1)
	for name, sight := range sights {
		x, y := lab(linear(t, a), sight), lab(linear(t, b), sight)
		if d := math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2]); d < smallest {
			smallest, by = d, name
		}
	}
	return smallest, by
}

func TestColourBlindPeopleCanTellBandsAndNeighbouringLinesApart(t *testing.T) {
	const apart = 12
	check := func(one, other, a, b string) {
		if d, by := difference(t, a, b); d < apart {
			t.Errorf("%s %s and %s %s differ by %.1f with %s, want %d", one, a, other, b, d, by, apart)
		}
	}
	bands := Bands()
	for i, one := range bands {
		for _, other := range bands[:i] {
			check(one.Title, other.Title, one.Colour, other.Colour)
		}
	}
	kinds := Kinds()
	for i := range kinds[1:] {
		check(kinds[i].Title, kinds[i+1].Title, kinds[i].Colour, kinds[i+1].Colour)
	}
}
