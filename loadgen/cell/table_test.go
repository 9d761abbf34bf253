package cell

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != text {
		t.Errorf("%s: %v\n%s", path, err, text)
	}
}

// arena returns the cells of an engine that reads 3,000 tokens a second and decodes in steps of 20 ms, its depth sent
// ahead: two batches a row.
func arena() []Row {
	var rows []Row
	for _, concurrency := range []int{1, 5} {
		for _, context := range []bool{true, false} {
			row := Row{
				Position: Position{Depth: 4096, Concurrency: concurrency, Prompt: 512, Response: 64}, Model: "m", Run: "runs/r", Arm: "default", Started: time.Unix(1_795_000_000, 0), Ended: time.Unix(1_795_000_060, 0),
				Context: context, Cached: !context, LatencySeconds: .0005, LatencyMode: "api",
			}
			tokens, cached := 4608, new(4096)
			if context {
				tokens, cached = 4097, new(0)
			}
			for b := range int64(2) {
				var batch []openai.Record
				for i := range int64(concurrency) {
					wait := (i + 1) * int64(float64(tokens-*cached)/3000*1e9)
					batch = append(batch, answer(b*int64(30e9), tokens, cached, steps(wait, (20+b)*ms, 64)...))
				}
				row.Batches = append(row.Batches, batch)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// TestTheTableHasBothColumns as text of a terminal, and as Markdown.
func TestTheTableHasBothColumns(t *testing.T) {
	rows := arena()
	for i := range rows[1:] { // of the first the machine was not read
		rows[i+1].Used = &summary.Used{Origin: summary.Origin{Source: "spark", Mode: "live"}, Seconds: 4, Joules: new(180. + 20*float64(i)), PerToken: true, MemoryLeft: new(float64(12-i) * (1 << 30))}
	}
	rows[3].Found = []Flag{{Throttled, "sw_thermal for 12 s, 20 % of the measured time"}, {Queued, "the engine's page has at most 4 running and up to 1 waiting, of 5"}}
	var text, markdown strings.Builder
	if err := WriteText(&text, rows); err != nil {
		t.Fatal(err)
	}
	if err := render.Markdown(&markdown, Document(rows)); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", text.String())
	golden(t, "table.md", markdown.String())
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// TestFiguresOfTheMachineAreAbsentWhereTheyWereNotMeasured: a column that no cell has is left out, and energy that is not
// that of the tokens is not divided by them.
func TestFiguresOfTheMachineAreAbsentWhereTheyWereNotMeasured(t *testing.T) {
	row := arena()[1]
	tokens := 2. * 64
	for name, of := range map[string]struct {
		used                    *summary.Used
		watts, perJoule, memory *float64
		header                  string
	}{
		"not measured":     {header: "| test | as llama-benchy, t/s | measured, t/s | n | TTFT | flags |"},
		"no energy":        {&summary.Used{Seconds: 4, PerToken: true, MemoryLeft: new(0.)}, nil, nil, new(0.), "| TTFT | memory left | flags |"},
		"energy":           {&summary.Used{Seconds: 4, PerToken: true, Joules: new(200.)}, new(50.), new(tokens / 200), nil, "| TTFT | GPU W | tokens/J | flags |"},
		"of another":       {&summary.Used{Seconds: 4, Joules: new(200.)}, new(50.), nil, nil, "| TTFT | GPU W | flags |"},
		"no time":          {&summary.Used{PerToken: true, Joules: new(0.)}, nil, nil, nil, "| TTFT | flags |"},
		"an idle counter":  {&summary.Used{Seconds: 4, PerToken: true, Joules: new(0.)}, new(0.), nil, nil, "| TTFT | GPU W | flags |"},
		"no time, a count": {&summary.Used{PerToken: true, Joules: new(200.)}, nil, new(tokens / 200), nil, "| TTFT | tokens/J | flags |"},
	} {
		row.Used = of.used
		for figure, values := range map[string][2]*float64{"W": {row.Watts(), of.watts}, "tokens/J": {row.TokensPerJoule(), of.perJoule}, "memory left": {row.MemoryLeft(), of.memory}} {
			if got, want := values[0], values[1]; (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("%s: %s is %v, want %v", name, figure, got, want)
			}
		}
		var markdown strings.Builder
		if err := render.Markdown(&markdown, Document([]Row{row})); err != nil || !strings.Contains(markdown.String(), of.header) {
			t.Errorf("%s: %q is not in\n%s", name, of.header, markdown.String())
		}
	}
}

// TestCellsOfASimulatedEngineSaySo first, and those of others do not.
func TestCellsOfASimulatedEngineSaySo(t *testing.T) {
	for simulated, want := range map[bool]int{true: 1, false: 0} {
		rows := arena()
		rows[2].Simulated = simulated
		var text, markdown strings.Builder
		if err := errors.Join(WriteText(&text, rows), render.Markdown(&markdown, Document(rows))); err != nil {
			t.Fatal(err)
		}
		for _, shown := range []string{text.String(), markdown.String()} {
			if strings.Count(shown, "SIMULATED: not a measurement of a real machine") != want {
				t.Errorf("simulated: %v\n%s", simulated, shown)
			}
		}
	}
}

// TestCellsWithAndWithoutPrefixCachingShareNoTable.
func TestCellsWithAndWithoutPrefixCachingShareNoTable(t *testing.T) {
	rows := arena()
	together := rows[3]
	together.Cached = false
	none := rows[3]
	none.Cached, none.Depth = false, 0
	var text strings.Builder
	if err := WriteText(&text, append(rows, together, none)); err != nil {
		t.Fatal(err)
	}
	var titles []string
	for line := range strings.Lines(text.String()) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Depth ") || line == "Without a depth" {
			titles = append(titles, line)
		}
	}
	if got := strings.Join(titles, "; "); got != "Without a depth; Depth in the prefix cache; Depth sent with the prompt" {
		t.Error(got)
	}
}

// TestArmsShareNoTableOfBothColumns: a name of a test does not say whose it is.
func TestArmsShareNoTableOfBothColumns(t *testing.T) {
	rows := arena()
	for _, r := range arena() {
		r.Arm = "patched"
		rows = append(rows, r)
	}
	var text strings.Builder
	if err := WriteText(&text, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"default on m: Depth in the prefix cache\n", "patched on m: Depth in the prefix cache\n"} {
		if strings.Count(text.String(), want) != 1 || strings.Count(text.String(), "tg64 @ d4096 (c5)  ") != 3 {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}

// TestArmsAreSideBySide with the same cells, a mean over the runs of each: runs of an arm are independent of each other.
func TestArmsAreSideBySide(t *testing.T) {
	var rows []Row
	for i, arm := range []string{"native", "container", "container", "native"} {
		for _, r := range arena()[:2] {
			r.Arm, r.Run = arm, fmt.Sprintf("runs/r%d", i)
			r.Batches = nil
			for b := range int64(2) {
				r.Batches = append(r.Batches, []openai.Record{answer(b*int64(30e9), 4608, new(4096), steps(200*ms, int64(20+i)*ms, 64)...)})
			}
			if !r.Context || i < 3 { // one run lacks the context
				rows = append(rows, r)
			}
		}
	}
	together := rows[1]
	together.Cached, together.PrefixCaching = false, false
	other := together
	other.Arm = "container"
	alone := together
	alone.Depth = 0
	rows = append(rows, together, other, alone)
	var text strings.Builder
	if err := WriteText(&text, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"By arm: depth in the prefix cache\ntest ", "ctx_pp @ d4096  2560 (1)         2560 ± 0 (2)\n", "tg64 @ d4096    46.7 ± 4.61 (2)  46.5 ± 1.53 (2)\n",
		"By arm: depth sent with the prompt\ntest           native    container\n", "pp512 @ d4096  2560 (1)  2560 (1)\n",
		"\npp512 @ d4096 #1   ", "\npp512 @ d4096 #2   ", // the runs of an arm in its own table
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if strings.Contains(text.String(), "By arm: without") {
		t.Errorf("an arm alone is beside others:\n%s", text.String())
	}
	var csv strings.Builder
	report, err := NewReport(arena(), "v1")
	if err != nil || report.WriteCSV(&csv) != nil || strings.Contains(csv.String(), "#") {
		t.Errorf("%v: %s", err, csv.String())
	}
}

// TestFlagsOfTheRunStandBesideItsCell, also of one without a request.
func TestFlagsOfTheRunStandBesideItsCell(t *testing.T) {
	rows := []Row{{Position: Position{Depth: 100000, Concurrency: 10, Prompt: 2048, Response: 128}, Found: []Flag{{DoesNotFit, "1,021,760 tokens of KV cache are needed, the server has 480,000"}}}}
	var text strings.Builder
	if err := WriteText(&text, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pp2048 @ d100000 (c10)  –", "does not fit\n", "does not fit: 1,021,760 tokens"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}
