package report

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
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// hostile is what names, labels and error texts from elsewhere may hold.
const hostile = "<script>alert(1)</script>\"'`|[x](javascript:y)\x1b[31m\x07\n# *_~=cmd&\u202e"

func rendered(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, p); err != nil {
		t.Fatal(err)
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
			t.Errorf("a coordinate is no number: %s", svg)
		}
	}
	return found
}

func TestThePageShowsEveryFigureWithItsNumberOfSamples(t *testing.T) {
	page := example(t, time.Minute)
	text := rendered(t, page)
	for _, title := range []string{
		"Time to first token", "Time per output token", "Request duration", "Gap between chunks", "Every request", "Requests in flight", "Output",
		"Where the memory went — spark-1, live", "Where the memory went — gb10-load, constructed", "Available and free memory — spark-1, live",
		"GPU power — gb10-load, constructed", "GPU temperature — spark-1, live", "GPU utilisation — spark-1, live",
	} {
		if !strings.Contains(text, "<h3>"+title) {
			t.Errorf("no figure %q", title)
		}
	}
	figures := regexp.MustCompile(`(?s)<figure.*?</figure>`).FindAllString(text, -1)
	for _, figure := range figures {
		if !regexp.MustCompile(`<figcaption>[^<]*n = \d+`).MatchString(figure) {
			t.Errorf("a figure without n: %.200s", figure)
		}
		bar := strings.Contains(figure, "<h3>Memory when the engine was ready") // its legend has the amounts
		if strings.Count(figure, "<svg") != 2 || !bar && !regexp.MustCompile(`class="axis"[^>]*>[^<]+<`).MatchString(figure) || bar && !strings.Contains(figure, " GiB</li>") {
			t.Errorf("a figure that is not drawn twice, or has no unit: %.200s", figure)
		}
	}
	if got := len(drawings(t, text)); got != 2*len(figures) || got < 40 {
		t.Errorf("%d drawings of %d figures", got, len(figures))
	}
}

func TestThePageNeedsNothingFromElsewhere(t *testing.T) {
	page := example(t, 20*time.Second)
	text := rendered(t, page)
	for _, forbidden := range []string{"<script src", "<link", "<img", "<iframe", "@import", "http://", "https://", "url(data", "javascript:", "onload"} {
		if strings.Contains(strings.ToLower(text), forbidden) {
			t.Errorf("the page has %s", forbidden)
		}
	}
}

// poisoned is a summary with a hostile string wherever one can come from elsewhere.
func poisoned(t *testing.T) Page {
	t.Helper()
	page := example(t, 20*time.Second)
	s := page.Summary
	s.Run, s.Scenario, s.Model.ID, s.Labels = hostile, hostile, hostile, map[string]string{"arm": hostile, hostile: "x"}
	s.Warnings = []string{hostile}
	s.Valid, s.InvalidReasons = false, []summary.Reason{{Code: summary.Code(hostile), Detail: hostile}}
	s.Phases[hostile] = s.Phases["measure"]
	s.Machines[1].Source, s.Machines[1].Mode = hostile, hostile
	s.Machines[1].Memory.LedgerAt.Peak[hostile] = 1
	s.Machines[1].Thermal.ThrottleSeconds = map[string]float64{hostile: 1}
	page.Telemetry.Sources[1].Name = hostile
	for _, series := range page.Telemetry.Sources[1].Series {
		for name := range series.Labels {
			if name != "mode" && name != "line" && name != "uuid" {
				series.Labels[name] = hostile
			}
		}
	}
	page.Title, page.Summary = hostile, s
	return page
}

func TestHostileTextStaysText(t *testing.T) {
	page := poisoned(t)
	text := rendered(t, page)
	drawings(t, text)
	if strings.Count(text, "<script") != 1 || strings.ContainsAny(text, "\x1b\x07\u202e") || !strings.Contains(text, "&lt;script&gt;") {
		t.Error("hostile text got into the page as it is")
	}
	var md, plain bytes.Buffer
	if err := Markdown(&md, page.Summary); err != nil {
		t.Fatal(err)
	}
	if err := Text(&plain, page.Summary); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"Markdown": md.String(), "text": plain.String()} {
		if strings.ContainsAny(text, "\x1b\x07\u202e") {
			t.Errorf("%s drives the terminal: %q", name, text)
		}
	}
	if strings.Contains(md.String(), "<script") || strings.Contains(md.String(), "[x](") {
		t.Errorf("markup in Markdown: %s", md.String())
	}
	checkTables(t, md.String())
}

// checkTables sees that every row of a Markdown table has as many cells as its heading.
func checkTables(t *testing.T, text string) {
	t.Helper()
	cells := func(line string) int { return strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") }
	columns, tables := 0, 0
	for line := range strings.Lines(text) {
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = cells(line)
			tables++
		case cells(line) != columns:
			t.Errorf("%d cells instead of %d: %s", cells(line), columns, line)
		}
	}
	if tables == 0 {
		t.Error("no table")
	}
}

func TestMarkdownAndTextHaveVerdictFiguresAndMachines(t *testing.T) {
	page := example(t, time.Minute)
	var md, plain bytes.Buffer
	if err := errors.Join(Markdown(&md, page.Summary), Text(&plain, page.Summary)); err != nil {
		t.Fatal(err)
	}
	checkTables(t, md.String())
	for _, want := range []string{"valid (checked: client", "TTFT from intended start", "Machine gb10-load (constructed)", "not measurements of this run", "| unattributed |", "sw\\_power\\_cap"} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
	for _, want := range []string{"valid (checked: client", "TTFT", "intended start", "output tokens per second", "within ttft=500ms,tpot=30ms", "constructed, not live"} {
		if !strings.Contains(plain.String(), want) {
			t.Errorf("text lacks %q", want)
		}
	}
	if strings.Contains(md.String(), "TTFO") {
		t.Error("first visible output is listed although it is the first token")
	}
}

func TestAPageWithoutRequestsOrTelemetryIsAPage(t *testing.T) {
	empty := rendered(t, Page{Title: "nothing", Summary: summarize(t, testrun.New())})
	if !strings.Contains(empty, "no request was measured") || strings.Contains(empty, "<figure") {
		t.Error("a run without requests")
	}
	drawings(t, rendered(t, pageOf(t, testrun.New(testrun.Steady(1)...))))
	torn := read(t, testrun.New(testrun.Steady(2)...))
	requests := torn.Path(rundir.RequestsFile)
	text, err := os.ReadFile(requests)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(requests, text[:len(text)-20], 0o644); err != nil {
		t.Fatal(err)
	}
	computed, err := summary.Compute(string(torn.Folder), supported.Engines())
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := computed.Requests()
	if err != nil || computed.Summary.Requests[openai.StatusOK] != 1 {
		t.Fatal(computed.Summary.Requests, err)
	}
	drawings(t, rendered(t, Page{Summary: computed.Summary, Drawn: drawn}))
	if err := os.WriteFile(requests, []byte("nonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := summary.Compute(string(torn.Folder), supported.Engines()); err == nil {
		t.Error("records that cannot be read made a page")
	}
}

func TestAFirstTokenThatWasNotObservedIsNotShown(t *testing.T) {
	silent := testrun.Answered(0, 0, 10, 20)
	silent.FirstTokenNS, silent.FirstVisibleNS, silent.ArrivalsNS, silent.ReadIDs, silent.ArrivalTokens = nil, nil, nil, nil, nil
	for name, page := range map[string]Page{
		"not streamed": pageOf(t, unstreamed(testrun.Steady(3)...)),
		"no output":    pageOf(t, testrun.New(silent)),
	} {
		text := rendered(t, page)
		if !strings.Contains(text, "Every request") || strings.Contains(text, "first token after") {
			t.Errorf("%s: the figure of requests is missing or tells when the first token came", name)
		}
	}
}

func TestTheLedgerStackIsThePoolAndTheRemainderIsSigned(t *testing.T) {
	log := example(t, 40*time.Second).Telemetry
	source := log.Source("gb10-load")
	track := track{log, source, 40, nil}
	var above, below bool
	for _, b := range slices.Concat(track.balances()...) {
		total := 0.0
		for _, v := range b.bands {
			total += v
		}
		if math.Abs(total-b.pool) > 1 {
			t.Fatalf("the lines are %v of a pool of %v", total, b.pool)
		}
		above, below = above || b.signed > 0, below || b.signed < 0
	}
	if !above || !below {
		t.Fatal("the example's remainder does not change sign")
	}
	drawn := track.ledger()
	rest := 0
	for _, s := range drawn.Desk.Shapes {
		if s.Class == "band-rest" {
			rest++
		}
	}
	if rest != 2 || !strings.Contains(fmt.Sprint(drawn.Legend), "unattributed -2 GiB to 2 GiB") {
		t.Errorf("%d areas for a remainder on both sides of zero, legend %v", rest, drawn.Legend)
	}
}

func TestAGapIsLeftOpen(t *testing.T) {
	log := example(t, 40*time.Second).Telemetry
	track := track{log, log.Source("spark-1"), 40, nil}
	if runs := track.balances(); len(runs) != 2 {
		t.Errorf("%d runs of the ledger around one gap", len(runs))
	}
	whole := track
	whole.source = log.Source("gb10-load")
	if runs := whole.balances(); len(runs) != 1 {
		t.Errorf("%d runs without a gap", len(runs))
	}
}

func TestEveryLedgerLineIsInOneBandInTheOrderOfTheVocabulary(t *testing.T) {
	var drawn []string
	for _, band := range bands() {
		drawn = append(drawn, band.Lines...)
	}
	if want := ledger.Names(); !slices.Equal(drawn, want) {
		t.Errorf("drawn in the order %q, want that of the vocabulary %q", drawn, want)
	}
}

func TestAFigureOfASampleStatesItsShare(t *testing.T) {
	if text := everyRequest(&summary.Timeline{End: 1000, Every: 8, Seen: 12_000}, nil).Caption; !strings.Contains(text, "One in 8 of n = 12000") {
		t.Error(text)
	}
}

// What is not held by processes is shown, too: the areas are the pool.
func TestGPUHeldMemoryIsAStackOfThePool(t *testing.T) {
	log := example(t, 40*time.Second).Telemetry
	track := track{log, log.Source("gb10-load"), 40, nil}
	held := track.source.Find(metric.GPUMemoryHeldBytes)
	if len(held) == 0 {
		t.Fatal("no GPU of the example holds memory")
	}
	for _, b := range slices.Concat(track.heldBalances(held)...) {
		total := 0.0
		for _, v := range b.bands {
			total += v
		}
		if len(b.bands) != len(held)+2 || math.Abs(total-b.pool) > 1 {
			t.Fatalf("the areas %v are no pool of %v", b.bands, b.pool)
		}
	}
	drawn := track.heldView()
	classes := map[string]bool{}
	for _, s := range drawn.Desk.Shapes {
		classes[s.Class] = true
	}
	if !classes["band-gpu"] || !classes["band-kernel"] || !classes["band-free"] || !strings.Contains(drawn.Caption, "The stack is the pool") {
		t.Errorf("%v, %s", classes, drawn.Caption)
	}
	for _, f := range track.figures() {
		if strings.HasPrefix(f.Title, "GPU memory held by processes") {
			t.Errorf("%s stands alone", f.Title)
		}
	}
	if track.course(courseFigure{measure: gpuHeld(), family: metric.GPUMemoryHeldBytes}) != nil {
		t.Error("beside other runs it stands alone")
	}
}
