package render

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

const gib = float64(1 << 30)

func TestAxesHaveRoundTicksInside(t *testing.T) {
	for _, test := range []struct {
		axis Axis
		want string
	}{
		{LinearAxis("", 0, 95, 1, 5), "0 20 40 60 80 100"},
		{LinearAxis("", 0, .0032, 1e3, 4), "0 1 2 3 4"},
		{LinearAxis("", 0, 0, 1, 4), "0 0.5 1"},
		{TimeAxis(47, 5), "0 10 20 30 40"},
		{TimeAxis(3600, 6), "0 10 20 30 40 50 60"},
		{BytesAxis(-2*gib, 119*gib), "0 50 100"},
		{LinearAxis("", -21*gib, 49*gib, 1/gib, 3), "-40 -20 0 20 40 60"},
		{LogAxis("", .01, 1, 1e3), "10 20 50 100 200 500 1000"},
	} {
		var ticks []string
		for _, tick := range test.axis.Ticks {
			ticks = append(ticks, tick.Text)
			if s := test.axis.Share(tick.At); s < 0 || s > 1 || math.IsNaN(s) {
				t.Errorf("tick %s is at %v", tick.Text, s)
			}
		}
		if got := strings.Join(ticks, " "); got != test.want {
			t.Errorf("ticks %s, want %s", got, test.want)
		}
	}
}

func TestNamesOfCategoriesAreAllThereHoweverLittleRoom(t *testing.T) {
	names := []string{"native", "a-very-long-name-of-an-arm", "日本語のアーム名です", "b"}
	f := NewFrame(220, 200, CategoryAxis("arm", names), LinearAxis("", 0, 1, 1, 4), "")
	var shown []string
	for _, s := range f.Drawing.Shapes {
		if s.Class == "tick" && s.Anchor == "middle" {
			shown = append(shown, s.Text)
		}
	}
	if got := strings.Join(shown, " "); got != "native a-ver… 日本語のア… b" {
		t.Error(got)
	}
	if f.PX(0) <= f.Left || f.PX(3) >= f.Right {
		t.Errorf("categories at %g and %g, from %g to %g", f.PX(0), f.PX(3), f.Left, f.Right)
	}
}

func TestAWhiskerReachesFromValueToValue(t *testing.T) {
	f := NewFrame(300, 200, LinearAxis("", 0, 10, 1, 4), LinearAxis("", 0, 100, 1, 4), "")
	before := len(f.Drawing.Shapes)
	f.Whisker("whisker", 100, 20, 80, 5, "title")
	for form := range 5 {
		f.Mark(form, "c0", 50, 60, "")
	}
	added := f.Drawing.Shapes[before:]
	if want := fmt.Sprintf("M95 %gh10m-5 0V%gm-5 0h10", f.PY(20), f.PY(80)); added[0].D != want || added[0].Title != "title" {
		t.Errorf("%s, want %s", added[0].D, want)
	}
	forms := map[string]int{}
	for _, s := range added[1:] {
		forms[s.Kind+s.D]++
	}
	if len(forms) != 4 || forms["dot"] != 2 {
		t.Errorf("%d forms of five marks: %v", len(forms), forms)
	}
}

func TestAnAxisOfLoadsHasATickAtEach(t *testing.T) {
	for want, loads := range map[string][]float64{"1 2 4 8": {8, 1, 2, 4, 1}, "4 6": {6, 4}} {
		a := LoadAxis("concurrency", loads)
		var ticks []string
		for _, tick := range a.Ticks {
			ticks = append(ticks, tick.Text)
		}
		if got := strings.Join(ticks, " "); got != want || a.Log != (want == "1 2 4 8") {
			t.Errorf("ticks %s, want %s; logarithmic %t", got, want, a.Log)
		}
	}
	if a := DurationAxis(0, .03); a.Log || a.Lo != 0 {
		t.Error("an axis that has 0 is logarithmic")
	}
	if a := DurationAxis(.001, 2); !a.Log {
		t.Error("an axis over three decades is not logarithmic")
	}
}
