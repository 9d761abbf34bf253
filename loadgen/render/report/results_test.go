package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
)

func rowsOf(t *testing.T, s render.Sheet) [][]any {
	t.Helper()
	var rows [][]any
	for row, err := range s.Rows {
		if err != nil {
			t.Fatal(err)
		}
		for i, cell := range row {
			if v, is := cell.(*int); is && v != nil {
				row[i] = *v
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func TestTheSheetOfRequestsBeginsWithTheColumnsOfVLLM(t *testing.T) {
	r := testrun.Answered(7, 1000, 100, 160, 200)
	r.ArrivalTokens, r.TokensOut, r.TokensIn, r.TokensCached = []int{1, 3, 2}, new(6), new(100), new(64)
	r.Conversation, r.Turn, r.Session = "c", 2, "s"
	records := []openai.Record{r, testrun.Failed(8, 1500, openai.StatusHTTP)}
	s := summarize(t, testrun.New(records...))
	table := RequestSheet(s, testrun.Sequence(records...))
	want := []string{"ttft_ms", "tpot_ms", "latency_ms", "start_time_ms", "input_num_turns", "input_num_tokens", "output_num_tokens",
		"output_num_chunks", "output_num_first_chunk_tokens", "approx_cached_percent", "conversation_id", "client_id"}
	if !slices.Equal(table.Header[:len(want)], want) {
		t.Errorf("columns %q", table.Header)
	}
	rows := rowsOf(t, table)
	if got := rows[0][:len(want)]; !slices.Equal(got, []any{100., 20., 200., 1000., 2, 100, 6, 3, 1, 64., "c", "s"}) {
		t.Errorf("row %v", got)
	}
	if got := rows[1]; got[0] != nil || got[2] != nil || got[slices.Index(table.Header, "status")] != "http" || len(got) != len(table.Header) {
		t.Errorf("a request that failed: %v", got)
	}
	for i, name := range table.Header {
		if name == "http_status" || name == "input_tokens_target" || name == "input_num_turns" {
			if got := rows[1][i]; got != nil {
				t.Errorf("%s of a request that has none is %v", name, got)
			}
		}
	}
	if got := rowsOf(t, RequestSheet(summarize(t, unstreamed(r)), testrun.Sequence(r)))[0]; got[0] != nil || got[1] != nil || got[2] != 200. {
		t.Errorf("an answer that was not streamed: %v", got)
	}
}

func TestTheSheetOfFiguresIsTheSummary(t *testing.T) {
	s := summarize(t, testrun.New(testrun.Steady(12)...))
	table, err := FigureSheet(s)
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]any{}
	for _, row := range rowsOf(t, table) {
		figures[row[0].(string)] = row[1]
	}
	for path, want := range map[string]any{"requests.ok": 12., "valid": true, "latency.ttft.send.p50": .1, "labels.arm": "default", "checked.0": "client"} {
		if figures[path] != want {
			t.Errorf("%s is %v, want %v", path, figures[path], want)
		}
	}
	if _, there := figures["latency.ttft.send.p99"]; there {
		t.Error("a percentile that is null has a row")
	}
}

func TestBenchstatIsAResultWithItsKeys(t *testing.T) {
	s := summarize(t, testrun.New(testrun.Steady(300)...))
	var text bytes.Buffer
	if err := Benchstat(&text, s); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`arm: default`, `host: spark`, `model: m`, `valid: true`, `simulated: false`, `Unit output-tokens/s better=higher`, `Unit ttft-from-send-p99-sec better=lower`,
		`BenchmarkLoad/scenario=standard 300 .* 0.1 ttft-from-send-p50-sec .*`} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text.String()) {
			t.Errorf("no line %s in %s", line, text.String())
		}
	}
	text.Reset()
	if err := Benchstat(&text, summarize(t, testrun.New())); err != nil || strings.Contains(text.String(), "\nBenchmark") {
		t.Errorf("a run of nothing has a result: %s (%v)", text.String(), err)
	}
}

func TestHostileTextStaysTextInBenchstatAndSheets(t *testing.T) {
	page := poisoned(t)
	var text bytes.Buffer
	if err := Benchstat(&text, page.Summary); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if !regexp.MustCompile(`^(# run |[a-z][^ \pC]*: |Unit \S+ better=|BenchmarkLoad/scenario=\S+ \d+ )`).MatchString(line) || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl) {
			t.Errorf("line %q", line)
		}
	}
	figures, err := FigureSheet(page.Summary)
	if err != nil {
		t.Fatal(err)
	}
	r := testrun.Answered(0, 0, 10, 20)
	r.Conversation, r.Error, r.ServerRequestID = "=cmd|' /C calc'!A0", hostile, "@SUM(1)"
	for _, s := range []render.Sheet{SummarySheet(page.Summary), figures, RequestSheet(page.Summary, testrun.Sequence(r))} {
		text.Reset()
		if err := render.CSV(&text, s); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(text.String(), "\x1b\x07\u202e") || regexp.MustCompile(`(?m)(^|,)"?[=@+]`).MatchString(text.String()) {
			t.Errorf("%s: %s", s.Name, text.String())
		}
	}
}

func TestConversationsAreGroupedAndInOrder(t *testing.T) {
	turn := func(index int, conversation string, number int) openai.Record {
		r := testrun.Answered(index, int64(index)*100, 10, 20)
		r.Conversation, r.Turn = conversation, number
		return r
	}
	unsent := openai.Record{Phase: "measure", Index: 5, Conversation: "b", Turn: 3, Status: openai.StatusCancelled}
	records := []openai.Record{turn(0, "a", 1), turn(3, "b", 2), turn(2, "b", 1), turn(1, "a", 2), testrun.Answered(4, 400, 10), unsent}
	var text bytes.Buffer
	outputs := func(phase string, index int) (*string, error) {
		if index == 2 {
			return new("<answer>"), nil
		}
		return nil, nil
	}
	if err := Conversations(&text, summarize(t, testrun.New(records...)), testrun.Sequence(records...), outputs); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(text.String()) {
		var c Conversation
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		for _, turn := range c.Turns {
			got = append(got, c.Conversation+string(rune('0'+turn.Index)))
		}
	}
	if want := []string{"a0", "a1", "b2", "b3", "b5"}; !slices.Equal(got, want) {
		t.Errorf("turns %q, want %q", got, want)
	}
	if !strings.Contains(text.String(), `"output":"<answer>"`) || !strings.Contains(text.String(), `"start":null`) {
		t.Errorf("conversations %s", text.String())
	}
	if !strings.Contains(text.String(), `"ttft":0.01,`) {
		t.Errorf("no first token: %s", text.String())
	}
	text.Reset()
	if err := Conversations(&text, summarize(t, unstreamed(records...)), testrun.Sequence(records...), outputs); err != nil || !strings.Contains(text.String(), `"ttft":null,`) || strings.Contains(text.String(), `"ttft":0`) {
		t.Errorf("a first token of an answer that was not streamed: %s (%v)", text.String(), err)
	}
}

func TestARunWithoutWarningsHasAnEmptyListOfThem(t *testing.T) {
	s := summarize(t, testrun.New(testrun.Steady(40)...))
	if s.Warnings == nil || len(s.Warnings) > 0 {
		t.Errorf("warnings %#v: the schema of summary.json wants a list", s.Warnings)
	}
}
