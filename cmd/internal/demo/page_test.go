package demo

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"html"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

var update = flag.Bool("update", false, "write the golden text")

func rendered(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := WritePage(&b, p); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("UMASCOPE_PAGES"); dir != "" { // to be looked at
		if err := os.WriteFile(dir+"/"+strings.ReplaceAll(t.Name(), "/", "-")+".html", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// sections are the headings that every page has, in their order.
var sections = []string{
	"One question, three designs", "Where the GiB went", "Did KV blocks come back from the SSD?",
	"Would wrong KV be noticed?", "What the alerts said", "What this does not show", "Runs that enter no figure", "The same on a real machine",
}

// expectInOrder fails unless all texts stand in the page, one after the other.
func expectInOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	page = html.UnescapeString(page)
	at := 0
	for _, want := range texts {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or stands before what goes before it", want)
		}
		at += i
	}
}

// figures are the drawings of a page, of which each must be well-formed.
func figures(t *testing.T, page string) []string {
	t.Helper()
	for _, svg := range regexp.MustCompile(`(?s)<svg viewBox.*?</svg>`).FindAllString(page, -1) {
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
	return regexp.MustCompile(`(?s)<figure.*?</figure>`).FindAllString(page, -1)
}

const absentNotice = `<strong>Missing:</strong>`

func TestAWholePageLacksNothingAndKeepsItsOrder(t *testing.T) {
	text := rendered(t, whole(t))
	if strings.Contains(text, absentNotice) {
		t.Error("something is said to be missing of a page that lacks nothing")
	}
	expectInOrder(t, text, append([]string{"<strong>Simulated.</strong>", "Latencies and load times are not", "uma-demo --seed 1"}, sections...)...)
	expectInOrder(t, text, "As published", "confounded with time", "blocked_order", "Forth and back<", "not decided", "Forth and back, every start alike", "more [10.79, 11.19], worse", "Between the designs only the order")
}

func TestThePageBeginsWithItsAnswersAndTheirVerdicts(t *testing.T) {
	text := rendered(t, whole(t))
	expectInOrder(t, text, "<h1>", "differ in memory occupied without KV cache by +19.1 GiB (blocks, n = 4 and 4: confounded with time (otherwise worse)), +9.0 GiB (abba, n = 4 and 4: inconclusive) and +11.0 GiB (equal, n = 4 and 3: worse); KV blocks read back from the SSD: proven; wrong KV blocks: caught.", "<strong>Simulated.</strong>",
		"Occupied without KV cache: blocks", "+19.11 GiB [+12.87, +25.35]", "confounded with time (otherwise worse)", "+19.13 GiB, inside the interval (n = 4 and 4 starts)", "KV cache: equal", "-9.89 GiB",
		"KV blocks come back from the SSD", "yes", "Caught", "Not accused", "Alert GPUHot fired on spark-heat 4m0s after the room got hot", "Latencies and load times are not", sections[0])
	for name, change := range map[string]func(*Page){
		"a truth outside the interval": func(p *Page) {
			for i := range p.Campaigns[1].Starts {
				if s := &p.Campaigns[1].Starts[i]; strings.HasPrefix(s.Arm, "c") {
					s.OccupiedWithoutKVBytes += 60 * gib
				}
			}
		},
		"a silent alert": func(p *Page) { p.Heat.Firings = nil },
	} {
		p := whole(t)
		before := bad(front(p))
		change(&p)
		if after := bad(front(p)); after != before+1 {
			t.Errorf("%s: %d rows stand out, %d without it", name, after, before)
		}
	}
	if sentence, verdicts, red := front(Page{}); !sentence.Empty() || !verdicts.Empty() || !red.Empty() {
		t.Errorf("of nothing: %v %v %v", sentence, verdicts, red)
	}
}

// TestARedRowIsExplained: red is a ground truth outside an interval, with how many there are and how many are expected;
// a verdict "worse" is not red.
func TestARedRowIsExplained(t *testing.T) {
	p := whole(t)
	if n := bad(front(p)); n != 0 {
		t.Errorf("%d rows are red where every interval contains the ground truth", n)
	}
	expectInOrder(t, rendered(t, p), "The ground truth is inside all 6 intervals. A 95 % interval misses it once in 20 times.")
	for i := range p.Campaigns[1].Starts {
		if s := &p.Campaigns[1].Starts[i]; strings.HasPrefix(s.Arm, "c") {
			s.KVBytes += 60 * gib
		}
	}
	if n := bad(front(p)); n != 1 {
		t.Errorf("%d rows are red", n)
	}
	expectInOrder(t, rendered(t, p), "Red: the ground truth is outside the interval, here in 1 of 6. A 95 % interval misses it once in 20 times.")
}

func bad(_ render.Paragraph, verdicts render.Table, _ render.Paragraph) (n int) {
	for _, row := range verdicts.Rows {
		if row.Tone == render.Bad {
			n++
		}
	}
	return n
}

func TestEveryFigureHasCountsAndUnits(t *testing.T) {
	all := figures(t, rendered(t, whole(t)))
	if len(all) != 9 {
		t.Errorf("%d figures", len(all))
	}
	for _, drawn := range all {
		if !strings.Contains(drawn, "(simulated)</h3>") {
			t.Errorf("a figure that does not say what it is, once it is copied out of the page: %.200s", drawn)
		}
		if !regexp.MustCompile(`<figcaption>[^<]*n = \d+`).MatchString(drawn) {
			t.Errorf("a figure without n: %.200s", drawn)
		}
		if strings.Count(drawn, "<svg") != 2 || !regexp.MustCompile(`class="axis"[^>]*>[^<]+<`).MatchString(drawn) {
			t.Errorf("a figure that is not drawn twice, or has no unit: %.200s", drawn)
		}
	}
}

// A figure of the page that is not on it is one that a reader cannot miss: every section stays, and says that it is
// empty.
func TestNoSectionVanishes(t *testing.T) {
	text := rendered(t, Page{})
	expectInOrder(t, text, sections...)
	if n := strings.Count(text, absentNotice); n != 8 {
		t.Errorf("%d of 8 parts say that they are missing", n)
	}
	for part, without := range map[string]func(*Page){
		"answers":   func(p *Page) { p.Campaigns = nil },
		"ledger":    func(p *Page) { p.Campaigns[0].Comparison, p.Campaigns = nil, p.Campaigns[:1] },
		"books":     func(p *Page) { p.Campaigns[0].Starts, p.Campaigns[1].Starts, p.Campaigns[2].Starts = nil, nil, nil },
		"limits":    func(p *Page) { p.Limits.Containers = nil },
		"drive":     func(p *Page) { p.Rehydration.Run = nil },
		"outputs":   func(p *Page) { p.Outputs.Runs = nil },
		"one trial": func(p *Page) { p.Outputs.Runs[0].Run = "" },
		"alerts":    func(p *Page) { p.Heat = Heat{} },
		"firings":   func(p *Page) { p.Heat.Firings = nil },
	} {
		p := whole(t)
		without(&p)
		text := rendered(t, p)
		expectInOrder(t, text, sections...)
		if !strings.Contains(text, absentNotice) {
			t.Errorf("nobody says that %s is missing", part)
		}
	}
}

func TestAMissingSectionShowsItsReason(t *testing.T) {
	p := whole(t)
	p.Made.Partial, p.Problems = true, []string{"spark-abba: no space left"}
	p.Campaigns[1] = Campaign{Name: "abba", Title: "Forth and back", Section: Section{Absent: "the demo was ended before it was made"}}
	text := rendered(t, p)
	expectInOrder(t, text, "This page is partial", "spark-abba: no space left", "Forth and back", "the demo was ended before it was made")
	expectInOrder(t, text, "by +19.1 GiB (blocks, n = 4 and 4: confounded with time (otherwise worse)) and +11.0 GiB (equal, n = 4 and 3: worse)", "This page is partial")
}

func TestHostileTextIsHarmless(t *testing.T) {
	const hostile = "<script>alert(1)</script>\x1b[31m\u202e"
	p := examplePage(t, hostile)
	p.Campaigns[0].Absent, p.Outputs.Absent, p.Problems = hostile, hostile, []string{hostile}
	p.Links = append(p.Links, Link{"a way out" + hostile, "javascript:alert(1)"})
	p.Heat.Firings[0].Runbook = "javascript:alert(1)"
	text := rendered(t, p)
	lower := strings.ToLower(text)
	for _, forbidden := range []string{"<script src", "<script>alert", "href=\"javascript:", "\x1b", "\u202e", "<link", "<img", "<iframe", "@import", "onload", "src="} {
		if strings.Contains(lower, forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	if n := strings.Count(text, "&lt;script&gt;"); n < 40 {
		t.Errorf("the hostile text stands there %d times: of some fields nothing is shown", n)
	}
	figures(t, text)
}

func TestThePageLoadsNothing(t *testing.T) {
	text := rendered(t, whole(t))
	for _, address := range regexp.MustCompile(`(?:src|href|url)[=(]["']?([^"')> ]+)`).FindAllStringSubmatch(text, -1) {
		if strings.Contains(address[1], "://") && !strings.HasPrefix(address[1], "https://example.org/") {
			t.Errorf("the page names %s", address[1])
		}
	}
	expectInOrder(t, text, "default-src 'none'")
}

// words are a page as it is read aloud, a line for each element.
func words(page string) string {
	page = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|<svg width="0".*?</svg>|<div class="phone">.*?</div>|<!doctype[^>]*>`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`(?s)<svg .*?</svg>`).ReplaceAllString(page, "[figure]")
	page = regexp.MustCompile(`</t[hd]>`).ReplaceAllString(page, " | ")
	page = regexp.MustCompile(`</?(strong|span|code|b|q|dt|li|a|i)[^>]*>`).ReplaceAllString(page, " ")
	page = html.UnescapeString(regexp.MustCompile(`<[^>]+>`).ReplaceAllString(page, "\n"))
	var lines []string
	for _, line := range strings.Split(page, "\n") {
		if line = strings.Join(strings.FieldsFunc(line, unicode.IsSpace), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestTheWordsOfThePage(t *testing.T) {
	got := words(rendered(t, whole(t)))
	const golden = "testdata/page.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d is\n%s\nand was\n%s\n(-update writes it)", i+1, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d lines, and there were %d", len(a), len(b))
	}
}

// The strongest thing that the designs show is what becomes of the arm that nothing was done to.
func TestThePageComparesTheBaselineBetweenDesigns(t *testing.T) {
	p := whole(t)
	for i, mean := range []float64{70.04, 93.92, 71.25} {
		bytes := mean * gib
		find(p.Campaigns[i].Comparison.Strata[0].Pairs[0], figure.MemoryOccupiedWithoutKV).A.Mean = &bytes
	}
	const want = "native itself has 70.0 GiB (blocks), 93.9 GiB (abba) and 71.2 GiB (equal)"
	if got := moral(p.Campaigns); !strings.Contains(got, want) {
		t.Errorf("%q lacks %q", got, want)
	}
	for i := range p.Campaigns[1:] {
		p.Campaigns[i+1].Comparison = nil
	}
	if got := moral(p.Campaigns); got != "" {
		t.Errorf("of one campaign: %q", got)
	}
}

// Every amount stands with its unit, and every difference with its interval, its verdict and its number of starts.
func TestEveryNumberOfAnAnswerHasItsUnitAndItsRuns(t *testing.T) {
	_, verdicts, _ := front(whole(t))
	if len(verdicts.Rows) != 3*2+1+2+1 {
		t.Fatalf("%d rows", len(verdicts.Rows))
	}
	for _, row := range verdicts.Rows[:6] {
		for i, form := range []string{`^(Occupied without KV cache|KV cache): (blocks|abba|equal)$`, `^[+-]\d+\.\d+ GiB \[[+-]\d+\.\d+, [+-]\d+\.\d+\]$`,
			`^(worse|inconclusive|confounded)`, `^[+-]\d+\.\d+ GiB, (in|out)side the interval \(n = \d and \d starts\)$`} {
			if !regexp.MustCompile(form).MatchString(row.Cells[i]) {
				t.Errorf("%q is not %s", row.Cells[i], form)
			}
		}
	}
}

// What is said of a comparison is its own word: nothing here judges it again.
func TestVerdictsAreThoseOfTheComparison(t *testing.T) {
	for _, verdict := range []compare.Verdict{compare.Equivalent, compare.Irrelevant, compare.Better, compare.Worse, compare.Different, compare.WorseExtentOpen, compare.Confounded, compare.Inconclusive, compare.Undecided} {
		p := whole(t)
		pair := p.Campaigns[2].Comparison.Strata[0].Pairs[0]
		m := find(pair, figure.MemoryOccupiedWithoutKV)
		m.Verdict = verdict
		_, verdicts, _ := front(p)
		row := verdicts.Rows[4]
		if !strings.HasPrefix(row.Cells[2], verdict.Text()) {
			t.Errorf("%s: %q", verdict, row.Cells[2])
		}
		if verdict == compare.Confounded && row.Tone != render.Note {
			t.Errorf("%s is coloured as %s", verdict, row.Tone)
		}
	}
}
