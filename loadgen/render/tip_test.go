package render

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"
)

// seriesFigure has a line over a minute, in bytes.
func seriesFigure() Figure {
	return Figure{Title: "Memory"}.Draw(func(width, height float64) *Drawing {
		frame := NewFrame(width, height, TimeAxis(60, 4), BytesAxis(0, 100*gib), "label")
		frame.Series("c0", "free", [][]Place{{{X: 0, Y: 0}, {X: 60, Y: 50 * gib}}})
		return frame.Drawing
	})
}

func page(t *testing.T, d Document) string {
	t.Helper()
	var text strings.Builder
	if err := HTML(&text, d); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestAPageAllowsTheScriptOfItsTipsAndNoOther(t *testing.T) {
	for name, blocks := range map[string][]Block{
		"figures": {Figures{seriesFigure()}},
		"panels":  {Panels{Panels: []Panel{{Drawing: seriesFigure().Desk}}}},
		"folded":  {Details{Summary: "more", Blocks: []Block{Group{Blocks: []Block{Figures{seriesFigure()}}}}}},
	} {
		text := page(t, Document{Title: hostileText, Blocks: blocks})
		scripts := regexp.MustCompile(`(?s)<script[^>]*>(.*?)</script>`).FindAllStringSubmatch(text, -1)
		if len(scripts) != 1 || strings.Count(strings.ToLower(text), "<script") != 1 {
			t.Fatalf("%s: %d scripts", name, len(scripts))
		}
		sum := sha256.Sum256([]byte(scripts[0][1]))
		policy := "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if Policy() != policy || !strings.Contains(html.UnescapeString(text), `http-equiv="Content-Security-Policy" content="`+policy+`"`) {
			t.Errorf("%s: the policy is not %s", name, policy)
		}
		for _, forbidden := range []string{"innerHTML", "insertAdjacentHTML", "eval(", "fetch(", "import"} {
			if strings.Contains(scripts[0][1], forbidden) {
				t.Errorf("the script has %s", forbidden)
			}
		}
	}
	if text := page(t, Document{Title: "words", Blocks: []Block{P(Plain("none"))}}); strings.Contains(text, "script") {
		t.Error("a page without a chart has a script")
	}
}

// Tips compute values from positions: the ends of the axes are those of the drawing, in the unit of their titles.
func TestADrawingHasTheAxesOfItsSeries(t *testing.T) {
	text := page(t, Document{Blocks: []Block{Figures{seriesFigure()}}})
	found := regexp.MustCompile(`data-plots="([^"]*)"`).FindStringSubmatch(text)
	if found == nil {
		t.Fatal("no plots")
	}
	var plots [][12]any
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &plots); err != nil || len(plots) != 1 {
		t.Fatalf("%v of %s", err, found[1])
	}
	want := [12]any{52., 32., 488., 188., 0., 60., false, "seconds since the run's start", 0., 103., false, "GiB"}
	if plots[0] != want {
		t.Errorf("%v, want %v", plots[0], want)
	}
	if !strings.Contains(text, `d="M52 188L488 112.3" data-s=""><title>free</title>`) {
		t.Error("the series is not marked, or has lost its title")
	}
	marks := Figure{Title: "marks"}.Draw(func(width, height float64) *Drawing {
		frame := NewFrame(width, height, TimeAxis(60, 4), BytesAxis(0, gib), "")
		frame.Mark(0, "c0", 60, 60, "1 GiB")
		return frame.Drawing
	})
	if text := page(t, Document{Blocks: []Block{Figures{marks}}}); strings.Contains(text, "data-plots") {
		t.Error("axes are there though no series needs them")
	}
}
