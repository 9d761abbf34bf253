package comparison

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

func rendered(t *testing.T, title string, c compare.Comparison) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, title, c); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("UMASCOPE_PAGES"); dir != "" { // to be looked at
		if err := os.WriteFile(dir+"/"+t.Name()+".html", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// drawings are the SVG elements of a page. That each is well-formed XML is checked.
func drawings(t *testing.T, page string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<svg viewBox.*?</svg>`).FindAllString(page, -1)
	for _, svg := range found {
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("a coordinate is no number: %.300s", svg)
		}
	}
	return found
}

func TestThePageAnswersFirstAndThenShowsWhatIsBehindIt(t *testing.T) {
	text := rendered(t, "Native against container", compared(t, published(), compare.Options{Within: []string{"model"}}))
	order := []string{
		"<h1>Native against container</h1>", "container against native: output tokens per second the same within ±2 %; memory occupied without KV cache", "more [", "confounded with time",
		"in blocks, none of decision grade", "confounded with time (otherwise worse)", "caveats: ", "kv_explained", "blocked_order", "What the verdicts mean",
		"Output tokens per second, container against native: equivalent", "No run is of decision grade: order blocked", "Run quality", "That explains the KV cache",
		"<h2>deepseek-7b", "Order blocked: native ×9, container ×10", "container as a multiple of native",
		"Where the memory differs: container − native", "What else differs between the arms", "container image", "Every run", "in the order of time", "<h2>qwen-72b",
	}
	at := 0
	for _, want := range order {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or stands before what goes before it", want)
		}
		at += i
	}
}

func TestEveryFigureOfAPageHasItsRunsAndItsUnit(t *testing.T) {
	three := experiment{models: []string{"m"}, arms: []string{"off", "cpu_only", "cpu_disk", "a-very-long-name-of-an-arm-of-eight"}, runs: 6}
	sweep := experiment{models: []string{"m"}, arms: []string{"native", "container"}, runs: 4, loads: []int{1, 2, 4, 8, 16}}
	for name, c := range map[string]compare.Comparison{
		"models": compared(t, published(), compare.Options{Within: []string{"model"}}),
		"arms":   compared(t, three, compare.Options{}),
		"sweep":  compared(t, sweep, compare.Options{Within: []string{"concurrency"}}),
	} {
		text := rendered(t, name, c)
		figures := regexp.MustCompile(`(?s)<figure.*?</figure>`).FindAllString(text, -1)
		for _, drawn := range figures {
			if !regexp.MustCompile(`<figcaption>[^<]*n = \d+`).MatchString(drawn) {
				t.Errorf("%s: a figure without n: %.200s", name, drawn)
			}
			if strings.Count(drawn, "<svg") != 2 || !regexp.MustCompile(`class="axis"[^>]*>[^<]+<`).MatchString(drawn) {
				t.Errorf("%s: a figure that is not drawn twice, or has no unit: %.200s", name, drawn)
			}
		}
		if got := len(drawings(t, text)); got != 2*len(figures) || got < 20 {
			t.Errorf("%s: %d drawings of %d figures", name, got, len(figures))
		}
		for _, forbidden := range []string{"<script src", "<link", "<img", "<iframe", "@import", "http://", "https://", "javascript:", "onload"} {
			if strings.Contains(strings.ToLower(text), forbidden) {
				t.Errorf("%s: the page has %s", name, forbidden)
			}
		}
	}
}

func TestEveryRunIsInEveryFigureOfItsMetric(t *testing.T) {
	c := compared(t, published(), compare.Options{Within: []string{"model"}})
	s := c.Strata[0]
	for _, k := range shown(s, mostFigures) {
		for _, f := range []struct {
			what string
			runs int
		}{{"by arm", strings.Count(shapes(boxes(c, s, k).Desk), " run\n")}, {"over time", strings.Count(shapes(overTime(c, s, k).Phone), " run\n")}} {
			if f.runs != 19 {
				t.Errorf("%s, %s: %d of 19 runs", k.title(), f.what, f.runs)
			}
		}
	}
}

// shapes are the classes of a drawing, one a line.
func shapes(d *render.Drawing) string {
	var b strings.Builder
	for _, s := range d.Shapes {
		b.WriteString(s.Class + "\n")
	}
	return b.String()
}

func TestRunsThatInterleaveAndAreProvenCarryADecision(t *testing.T) {
	e := published()
	e.models, e.blocked = e.models[:1], false
	text := rendered(t, "ABBA", compared(t, e, compare.Options{}))
	if !strings.Contains(text, "All runs are of decision grade.") || strings.Contains(text, "confounded with time") {
		t.Error("interleaved arms are held to be confounded, or carry no decision")
	}
	if !strings.Contains(text, `class="notice good"`) {
		t.Error("no verdict is shown as good")
	}
}

func TestMetricsOverALoadHaveALineForEachArm(t *testing.T) {
	e := experiment{models: []string{"a", "b"}, arms: []string{"native", "container"}, runs: 3, loads: []int{1, 4, 16}}
	c := compared(t, e, compare.Options{Within: []string{"model", "concurrency"}})
	figures := loadFigures(c)
	if len(figures) != 2*4 {
		t.Fatalf("%d figures of four metrics of two models", len(figures))
	}
	for _, f := range figures {
		if n := strings.Count(shapes(f.Desk), "line c"); n != 2 || !strings.Contains(f.Title, "over concurrency, model ") {
			t.Errorf("%s: %d lines", f.Title, n)
		}
	}
	if figures := loadFigures(compared(t, published(), compare.Options{Within: []string{"model"}})); len(figures) > 0 {
		t.Errorf("%d figures over names", len(figures))
	}
}

func TestHostileTextOfAComparisonStaysText(t *testing.T) {
	e := published()
	e.hostile = "<script>alert(1)</script>\"'`|[x](javascript:y)\x1b[31m\x07\n# *_~=cmd&\u202e"
	e.arms = []string{"native" + e.hostile, "container" + e.hostile}
	text := rendered(t, e.hostile, compared(t, e, compare.Options{Within: []string{"model"}}))
	drawings(t, text)
	if strings.Count(text, "<script") != 1 || strings.ContainsAny(text, "\x1b\x07\u202e") || !strings.Contains(text, "&lt;script&gt;") {
		t.Error("hostile text got into the page as it is")
	}
}

func TestFewRunsMakeAPageToo(t *testing.T) {
	for name, runs := range map[string]int{"one run an arm": 1, "two, one of them invalid in an arm": 2, "three": 3} {
		e := experiment{models: []string{"m"}, arms: []string{"a", "b"}, runs: runs}
		text := rendered(t, name, compared(t, e, compare.Options{}))
		drawings(t, text)
		if want := "with one run of an arm"; (runs < 3) != strings.Contains(text, want) {
			t.Errorf("%s: %q is said: %t", name, want, runs >= 3)
		}
		if strings.Contains(text, `class="box`) {
			t.Errorf("%s: a box of %d runs", name, runs)
		}
	}
	if text := rendered(t, "empty", compare.Comparison{By: "arm", Baseline: "a", Arms: []string{"a"}}); strings.Contains(text, "<figure") {
		t.Error("a figure of nothing")
	}
}

func TestALongComparisonMakesNoEndlessPage(t *testing.T) {
	e := experiment{arms: []string{"a", "b"}, runs: 2}
	for i := range 60 {
		e.models = append(e.models, fmt.Sprintf("model-%02d", i))
	}
	text := rendered(t, "long", compared(t, e, compare.Options{Within: []string{"model"}}))
	if n := strings.Count(text, "<h2>model-"); n != mostStrata || !strings.Contains(text, "36 more strata have no section here") {
		t.Errorf("%d sections", n)
	}
	if len(text) > 16<<20 {
		t.Errorf("a page of %d MiB", len(text)>>20)
	}
}

func TestAMetricOfAnEngineSharesNoFigureWithAMeasuredOne(t *testing.T) {
	runs := published().make()
	for i := range runs {
		if runs[i].Labels["arm"] == "container" {
			runs[i].EngineReported = []string{figure.MemoryOccupiedWithoutKV}
		}
	}
	for i := range runs { // so that both arms have it of either kind
		if i%2 == 0 {
			runs[i].EngineReported = []string{figure.MemoryOccupiedWithoutKV}
		}
	}
	c, err := compare.Compare(runs, compare.Options{By: "arm", Within: []string{"model"}})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Strata[0]
	measured, reported := points(s, "native", key{figure.MemoryOccupiedWithoutKV, false}), points(s, "native", key{figure.MemoryOccupiedWithoutKV, true})
	if len(measured)+len(reported) != 9 || len(reported) == 0 {
		t.Errorf("%d measured and %d reported of 9", len(measured), len(reported))
	}
	if title := (key{figure.MemoryOccupiedWithoutKV, true}).title(); !strings.Contains(title, "as the engine reports it") {
		t.Error(title)
	}
}

func TestRatiosAreOnAScaleOfTheirOwn(t *testing.T) {
	for _, test := range []struct {
		extent span
		want   string
	}{
		{span{.995, 1.004}, "0.995 1 1.005"},
		{span{.98, 1.02}, "0.98 0.99 1 1.01 1.02"},
		{span{.37, 1.44}, "0.5 0.7 1 1.4 2"},
		{span{.1, 9}, "0.1 0.2 0.5 1 2 5 10"},
	} {
		var ticks []string
		a := ratioAxis(test.extent, 500)
		for _, tick := range a.Ticks {
			ticks = append(ticks, tick.Text)
		}
		if got := strings.Join(ticks, " "); got != test.want || math.Abs(a.Share(1)-.5) > 1e-9 {
			t.Errorf("%v: ticks %s, want %s; 1 is at %g", test.extent, got, test.want, a.Share(1))
		}
	}
}

func TestRepetitionsInASequenceAreCounted(t *testing.T) {
	if got := sequence([]string{"a", "a", "b", "a"}); got != "a ×2, b, a" {
		t.Error(got)
	}
	long := slices.Repeat([]string{"a", "b"}, 40)
	if got := sequence(long); !strings.HasSuffix(got, "… (80 runs)") || len(got) > 120 {
		t.Error(got)
	}
}

// A phone has no room for both: the name is cut, what was found is not, and the line of no change does not
// go through either.
func TestANarrowForestCutsNamesAndNoVerdicts(t *testing.T) {
	found := "+43.75 %  worse, confounded with time"
	row := ratioRow{name: strings.Repeat("a metric of a long name ", 5), text: found, at: 1.4, lo: 1.3, hi: 1.5, marginLow: 0.98, marginHigh: 1.02}
	drawing := drawForest([]ratioRow{row, row}, span{0.98, 1.5}, 340, 154, "x")
	var lines, texts []render.Shape
	for _, s := range drawing.Shapes {
		switch {
		case s.Class == "mark":
			lines = append(lines, s)
		case s.Class == "row":
			texts = append(texts, s)
		}
	}
	for _, text := range texts {
		if !strings.HasSuffix(text.Text, "…  "+found) || float64(len([]rune(text.Text)))*render.LetterWidth > 340 {
			t.Errorf("%q", text.Text)
		}
		for _, line := range lines {
			var x, top, bottom float64
			if _, err := fmt.Sscanf(line.D, "M%g %gL%g %g", &x, &top, &x, &bottom); err != nil || top < text.Y && bottom > text.Y-10 {
				t.Errorf("a line %s goes through the text at %g (%v)", line.D, text.Y, err)
			}
		}
	}
	if len(texts) != 2 || len(lines) != 2 {
		t.Errorf("%d texts and %d lines for 2 rows", len(texts), len(lines))
	}
}
