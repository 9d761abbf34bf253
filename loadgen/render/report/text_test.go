package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/evidence"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// TestTheCommonestErrorsArePrintedInTheServersWords reads what ends a run whose server has no engine.
func TestTheCommonestErrorsArePrintedInTheServersWords(t *testing.T) {
	records := testrun.Altered(24, 20, testrun.FailedWith(openai.StatusHTTP, "HTTP 503: no engine"))
	testrun.FailedWith(openai.StatusTimeout, "no first token within 10s")(&records[20])
	testrun.FailedWith(openai.StatusInBand, "\x1b[31mworker died")(&records[21])
	testrun.FailedWith(openai.StatusConnect, "")(&records[22])
	s := summarize(t, testrun.New(records...))
	want := "23 of 24 requests did not end ok (95.8 %): HTTP 503: no engine (20), connect (1), in_band: worker died (1), and others"
	if len(s.InvalidReasons) != 1 || s.InvalidReasons[0] != (summary.Reason{Code: summary.CodeErrorRate, Detail: want}) {
		t.Errorf("reasons %v, want %s", s.InvalidReasons, want)
	}
	var out bytes.Buffer
	if err := Text(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"1 ok, 20 http, 1 in_band, 1 timeout, 1 connect", "HTTP 503: no engine (20)"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is not printed:\n%s", line, out.String())
		}
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("an escape sequence is printed: %q", out.String())
	}
}

func TestMemoryThatTheEngineReportsIsShownWithItsSource(t *testing.T) {
	run := testrun.New(testrun.Steady(3)...)
	run.Manifest.Judging.Engine = &rundir.EngineReport{Peak: new(40 * testrun.GiB), Source: "trtllm, its log"}
	s := summarize(t, run)
	if s.Memory == nil || s.Memory.EngineReported == nil || *s.Memory.EngineReported.Peak != 40*testrun.GiB || s.Memory.UnavailablePeak != nil {
		t.Errorf("memory %+v", s.Memory)
	}
	var text strings.Builder
	if err := Text(&text, s); err != nil || !strings.Contains(text.String(), "40 GiB (by trtllm, its log)") {
		t.Errorf("printed %s (%v)", text.String(), err)
	}
}

func TestAReportShowsEachSignalWithItsObservations(t *testing.T) {
	absent := evidence.Unseen(evidence.CountersAbsent)
	signals := evidence.Signals{SSDOffload: absent, SSDRehydrate: absent, Reuse: absent}
	signals.OutputMatch = summary.MatchOutputs(summary.OutputDrift{Pairs: 8}, summary.OutputDrift{Pairs: 32, Diverging: 1, Early: 1}, true)
	var text, short bytes.Buffer
	if err := Markdown(&text, graded(t, &signals)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Evidence", "contradicted: outputs", "replay\\_diverging", "ssd\\_rehydrate"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, text.String())
		}
	}
	if err := Text(&short, graded(t, &signals)); err != nil || !strings.Contains(short.String(), "contradicted (outputs differ)") {
		t.Errorf("%v: %s", err, short.String())
	}
	text.Reset()
	if err := HTML(&text, Page{Summary: graded(t, &signals)}); err != nil || !strings.Contains(text.String(), "<h2>Evidence</h2>") || !strings.Contains(text.String(), "replay_diverging") {
		t.Errorf("%v: the page has no evidence", err)
	}
	text.Reset()
	if err := Markdown(&text, graded(t, nil)); err != nil || strings.Contains(text.String(), "## Evidence") {
		t.Errorf("%v: a run that nobody asked for evidence shows some", err)
	}
}

func TestEveryReportShowsTheSteadyState(t *testing.T) {
	page := pageOf(t, testrun.New(testrun.ClosedLoop(4, 10, 3)...))
	var md, plain strings.Builder
	if err := Markdown(&md, page.Summary); err != nil {
		t.Fatal(err)
	}
	if err := Text(&plain, page.Summary); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"HTML": rendered(t, page), "Markdown": md.String()} {
		if !strings.Contains(text, "From 15 ms to 1 s, the first and the last moment with 4 requests in flight") {
			t.Errorf("%s does not tell the window", name)
		}
	}
	if !strings.Contains(plain.String(), "output tokens per second, steady") {
		t.Errorf("text %s", plain.String())
	}
}

func TestReportsShowTheFiguresOfAToolApart(t *testing.T) {
	run := testrun.Recorded(t, "live", testrun.ToolPhases()...)
	run.Manifest.Judging.Tool = testrun.Tool(spec.Reported{Name: spec.Requests, Unit: spec.UnitCount, Meaning: "requests | <b>\x1b[31m", Value: 50, Of: "D(1,1), concurrency 4", From: "file"})
	recorded := pageOf(t, run)
	s := recorded.Summary
	for name, render := range map[string]func(*strings.Builder) error{
		"text":     func(b *strings.Builder) error { return Text(b, s) },
		"markdown": func(b *strings.Builder) error { return Markdown(b, s) },
		"page":     func(b *strings.Builder) error { return HTML(b, recorded) },
	} {
		var b strings.Builder
		if err := render(&b); err != nil {
			t.Fatal(name, err)
		}
		text := b.String()
		for _, want := range []string{"trtllm-bench", "output tokens per second", "120 /s", "time to first token, p99", "250 ms", "stdout:19", "30 GiB", "concurrency 4"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", name, want, text)
			}
		}
		for _, no := range []string{"KV cache by the engine", "\x1b", "TTFT", "0 ok", "requests per second", "Latency"} {
			if strings.Contains(text, no) {
				t.Errorf("%s: %q in %s", name, no, text)
			}
		}
		if name != "text" && strings.Contains(text, "<b>") {
			t.Errorf("%s: markup got through", name)
		}
	}
}

func TestTheSheetOfTheToolHasItsFiguresInBaseUnits(t *testing.T) {
	var b strings.Builder
	if err := render.CSV(&b, ToolSheet(summary.Summary{Tool: testrun.Tool()})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "kv_bytes,,,3.221225472e+10,bytes,stdout:9,Allocated 30.00 GiB\n") || strings.Count(b.String(), "\n") != 5 {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := render.CSV(&b, ToolSheet(summary.Summary{})); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%s (%v)", b.String(), err)
	}
}

func TestATableThatIsNotThereLeavesNoGap(t *testing.T) {
	run := testrun.Recorded(t, "live")
	run.Manifest.Judging.Tool.Values = nil
	var b strings.Builder
	if err := Text(&b, summarize(t, run)); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "\n\n\n") || strings.Count(text, "\n\n") == 0 {
		t.Errorf("%s", text)
	}
}

// TestALatencyWithTwoNamesIsOneRow: where every chunk has one token, ITL is the chunk gap. Files for programs keep both.
func TestALatencyWithTwoNamesIsOneRow(t *testing.T) {
	of := func(mean float64) *summary.Distribution { return &summary.Distribution{N: 4, Mean: &mean, Max: &mean} }
	names := func(rows []row) (all []string) {
		for _, r := range rows {
			all = append(all, r.name)
		}
		return all
	}
	l := &summary.Latency{ChunkGap: &summary.ChunkGap{Send: of(.1)}, ITL: &summary.Clocks{Send: of(.1)}}
	if got := names(shownLatencies(l)); !slices.Equal(got, []string{"ITL, chunk gap"}) {
		t.Errorf("of the same: %q", got)
	}
	if got := names(latencyRows(l)); !slices.Equal(got, []string{"chunk gap", "ITL"}) {
		t.Errorf("for programs: %q", got)
	}
	l.ITL.Send = of(.05)
	if got := names(shownLatencies(l)); !slices.Equal(got, []string{"chunk gap", "ITL"}) {
		t.Errorf("of chunks of two tokens: %q", got)
	}
}
