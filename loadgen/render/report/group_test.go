package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

const hostileName = "<script>alert(1)</script>\x1b[31m|`x`"

// group is runs at loads, of which the last is invalid, and one that has nothing.
func group(t *testing.T, loads ...float64) Group {
	t.Helper()
	g := Group{Title: "Sweep " + hostileName, Verdict: "Every run that counts is valid.", Good: true, Over: "requests in flight", Notes: []string{"found " + hostileName}, Marks: []Mark{{loads[0], "within"}, {loads[len(loads)-1], "beyond"}}}
	for i, load := range loads {
		run := testrun.New(testrun.Steady(12)...)
		run.Manifest.Labels = map[string]string{"arm": hostileName, "host": "spark", "concurrency": render.Number(load)}
		if i == len(loads)-1 {
			run.Records = append(run.Records, testrun.Failed(99, 100, openai.StatusHTTP))
		}
		s := summarize(t, run)
		s.Model.Simulated = i == 0
		s.Warnings = []string{"all warn", "warning of " + render.Number(load)}
		g.Members = append(g.Members, Member{Run: "r", Name: render.Number(load), Load: load, State: "valid", Summary: &s})
	}
	g.Members = append(g.Members, Member{Run: "gone", Name: hostileName, State: "failed"})
	return g
}

func written(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var text bytes.Buffer
	if err := write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestAGroupShowsEveryRunAndWhatTheyHaveInCommon(t *testing.T) {
	g := group(t, 1, 2, 64)
	page := written(t, func(b *bytes.Buffer) error { return g.WriteHTML(b) })
	for _, want := range []string{">concurrency<", "everywhere: all warn", "at 2: warning of 2", "The engine is simulated", "n = 4 runs", ">within<", ">beyond<"} {
		if got := strings.Contains(page, want); got != (want != ">concurrency<") {
			t.Errorf("%q is on the page: %t", want, got)
		}
	}
	// A dot for each valid run on each curve, a cross for the invalid one.
	pictures := drawings(t, page)
	if len(pictures) != 2*5 {
		t.Fatalf("%d drawings, want five figures in two sizes", len(pictures))
	}
	for _, picture := range pictures {
		if dots, crosses := strings.Count(picture, "<circle"), strings.Count(picture, `class="cross"`); dots != 2*crosses || crosses == 0 {
			t.Errorf("%d dots and %d crosses in %.80s", dots, crosses, picture)
		}
	}
	if rows := g.table().Rows; len(rows) != 4 || rows[3].Cells[2] != format.None || rows[0].Cells[2] != "12 ok" {
		t.Errorf("rows %q", rows)
	}
}

func TestAColumnThatNoRunHasIsLeftOut(t *testing.T) {
	g := group(t, 1, 2)
	if header := strings.Join(g.table().Header, " "); strings.Contains(header, "SLO") || !strings.Contains(header, "TTFT p50") {
		t.Errorf("columns %s", header)
	}
	g.Members[1].Summary.SLO = &summary.SLOResult{Requests: 2, Ratio: .5}
	if rows := g.table(); rows.Header[len(rows.Header)-1] != "within SLO" || rows.Rows[0].Cells[len(rows.Header)-1] != format.None || rows.Rows[1].Cells[len(rows.Header)-1] != "50 %" {
		t.Errorf("%v", rows)
	}
}

// The figures of the machine have a table of their own, so that neither is wider than a page. What all of them are, its title
// says once; where they differ, each figure does.
func TestThePageOfAGroupHasTheMachineInASecondTable(t *testing.T) {
	g := group(t, 1, 2)
	modes := func(first, second string) {
		for i, mode := range []string{first, second} {
			free := float64(10+i) * (1 << 30)
			g.Members[i].Summary.Memory = &summary.Memory{Origin: summary.Origin{Source: "spark", Mode: mode}, UnavailablePeak: &free}
		}
	}
	for _, c := range []struct{ first, second, title, cell string }{
		{"simulated", "simulated", "Machine (simulated)", "10 GiB"},
		{"live", "live", "Machine", "10 GiB"},
		{"simulated", "live", "Machine", "10 GiB (simulated)"},
	} {
		modes(c.first, c.second)
		blocks := g.tables()
		if len(blocks) != 3 {
			t.Fatalf("%d blocks, want two tables and a title", len(blocks))
		}
		load, title, machine := blocks[0].(render.Table), blocks[1].(render.Heading), blocks[2].(render.Table)
		if header := strings.Join(load.Header, "|"); !strings.Contains(header, "TTFT p50") || strings.Contains(header, "unavailable") {
			t.Errorf("the first table has %s", header)
		}
		if header := strings.Join(machine.Header, "|"); header != "requests in flight|run is|unavailable, peak" {
			t.Errorf("the second table has %s", header)
		}
		if title.Text != c.title || machine.Rows[0].Cells[2] != c.cell || machine.Rows[1].Cells[2] != "11 GiB" || machine.Rows[2].Cells[2] != format.None {
			t.Errorf("%s and %s: %q above %v", c.first, c.second, title.Text, machine.Rows)
		}
		if all := g.table(); c.first == "simulated" && !slices.Contains(all.Rows[0].Cells, "10 GiB (simulated)") {
			t.Errorf("the table of a terminal has %v", all.Rows[0].Cells)
		}
	}
}

func TestARunWithoutALoadIsInTheTableOnly(t *testing.T) {
	for _, g := range []Group{group(t, 4), {Title: "none", Over: "shape"}} {
		if figures := g.figures(); len(figures) > 0 {
			t.Errorf("%d figures of %d runs", len(figures), len(g.Members))
		}
		written(t, func(b *bytes.Buffer) error { return g.WriteHTML(b) })
	}
}

func TestHostileTextOfAGroupStaysText(t *testing.T) {
	g := group(t, 1, 8)
	page := written(t, func(b *bytes.Buffer) error { return g.WriteHTML(b) })
	document := written(t, func(b *bytes.Buffer) error { return g.WriteMarkdown(b) })
	terminal := written(t, func(b *bytes.Buffer) error { return g.WriteText(b) })
	for name, text := range map[string]string{"page": page, "document": document, "terminal": terminal} {
		if strings.Contains(text, "\x1b") || name != "terminal" && strings.Contains(text, "<script>alert") {
			t.Errorf("the %s has %q in it", name, hostileName)
		}
	}
	checkTables(t, document)
}

// Where a proxy hands on whole answers, most tokens come at once: the time per token is 0 there.
func TestADurationOfZeroIsDrawnToo(t *testing.T) {
	g := group(t, 1, 2, 4)
	for i, p50 := range []float64{0, .02, .03} {
		g.Members[i].Summary.Latency.TPOT = &summary.Clocks{Send: &summary.Distribution{P50: &p50}}
	}
	axis := valueAxis("", 0, .03, true)
	if axis.Log || axis.Lo != 0 {
		t.Errorf("an axis from %g, logarithmic: %t", axis.Lo, axis.Log)
	}
	if figures := g.figures(); len(figures) != 5 {
		t.Errorf("%d figures", len(figures))
	}
}

// What is wider than expected goes to the left, where there is room, not over the edge.
func TestAMarkAtTheEndOfTheAxisStaysOnTheDrawing(t *testing.T) {
	g := group(t, 1, 2, 64)
	f := g.figures()[0]
	for _, c := range []*render.Drawing{f.Desk, f.Phone} {
		for _, s := range c.Shapes {
			if s.Class == "mark-text" && s.Text == "beyond" && (s.Anchor != "end" || s.X > c.Width) {
				t.Errorf("it %ss at %g of %g", s.Anchor, s.X, c.Width)
			}
		}
	}
}

func TestAGroupLeadsToThePagesOfItsRuns(t *testing.T) {
	g := group(t, 1, 2)
	g.RunPage = "page.html"
	page := written(t, func(b *bytes.Buffer) error { return g.WriteHTML(b) })
	if n := strings.Count(page, `<a href="r/page.html">`); n != 2 || strings.Contains(page, `href="gone`) {
		t.Errorf("%d links to 2 runs with a page", n)
	}
}

func TestAGroupBeginsWithItsRangesAndWhereTheBestIs(t *testing.T) {
	member := func(name string, valid bool, rate, ttft float64) Member {
		s := &summary.Summary{Valid: valid}
		s.Throughput.OutputTokensPerSecond = &rate
		s.Latency = &summary.Latency{TTFT: &summary.Clocks{Intended: &summary.Distribution{P50: &ttft}}}
		return Member{Name: name, Summary: s}
	}
	g := Group{Verdict: "1 of 4 runs are INVALID: they are in no mean.", Over: "concurrency", Members: []Member{
		member("1", true, 24.1, .18), member("8", true, 120, .4), member("16", true, 110, 1.2), member("64", false, 900, .01), {Name: "128"},
	}}
	const want = "1 of 4 runs are INVALID: they are in no mean. Output tokens per second 24.1 to 120, highest at concurrency 8; TTFT p50 180 ms to 1.2 s, shortest at concurrency 1."
	if got := g.answer(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	g.Members = g.Members[:1]
	if got := g.answer(); got != "1 of 4 runs are INVALID: they are in no mean." {
		t.Errorf("a range of one run: %s", got)
	}
}
