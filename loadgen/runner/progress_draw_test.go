package runner

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
)

const gib = 1 << 30

var progressAt = time.Date(2026, 11, 5, 12, 2, 10, 0, time.UTC)

// goldenProgress is a run of a campaign in its measured phase. Its history has a second without a request, and its ledger
// counts 0.5 GiB twice.
func goldenProgress() Progress {
	p := Progress{
		At: progressAt, State: rundir.StateRunning, Run: "20261105T120000-native-0001", Arm: metric.ArmNative, Scenario: "standard", Model: "meta-llama/Llama-3.1-8B-Instruct", Simulated: true,
		Phase: rundir.PhaseMeasure, PhaseNumber: 3, Phases: 4, ElapsedSeconds: 130.6, PhaseElapsedSeconds: 96.2, PhaseLeftSeconds: new(107.7),
		Requests:   &RequestCounts{Planned: 300, Started: 150, Ended: 142, InFlight: 8, Failed: 3, FailedBy: map[openai.Status]int64{openai.StatusTimeout: 1, openai.StatusHTTP: 2}},
		PhaseRates: &Rates{1.48, 379, 381}, LastRates: &Rates{1.4, 358, 377.3},
		TTFT:     &Latencies{&Quantiles{140, .312, 1.204}, &Quantiles{14, .298, .401}},
		ChunkGap: &Latencies{Phase: &Quantiles{35000, .0211, .0389}},
		Machines: []Machine{{
			Host: "spark-1", Mode: metric.ModeSimulated, PoolBytes: new(121.5 * gib), OccupiedBytes: new(101.5 * gib), AvailableBytes: new(48.0 * gib), KVCacheBytes: new(32.0 * gib),
			LedgerBytes: map[string]float64{ledger.GPUProcess: 62 * gib, ledger.Anon: 8 * gib, ledger.KernelStack: gib / 4, ledger.Percpu: gib / 4, ledger.PageCache: 31.5 * gib, ledger.Unattributed: -.5 * gib, ledger.Free: 20 * gib},
			GPUCelsius:  new(64.0), GPUWatts: new(48.2),
		}},
		Series: &Series{Kind: rundir.KindCampaign, Name: "native-container", Number: 5, Of: 12, EndsAt: new(progressAt.Add(41*time.Minute + 12*time.Second)), Results: "3 finished, 1 invalid", Runs: []SeriesRun{
			{Name: "1 native", Status: "finished", OutputTokensPerSecond: new(379.4), TTFTP50Seconds: new(.312), TTFTP99Seconds: new(1.21), ChunkGapP50Seconds: new(.0211), ChunkGapP99Seconds: new(.0389)},
			{Name: "2 container", Status: "finished", OutputTokensPerSecond: new(371.2), TTFTP50Seconds: new(.322), ChunkGapP50Seconds: new(.0214), ChunkGapP99Seconds: new(.0391)},
			{Name: "3 container", Status: "invalid", Why: "client_lag, error_rate"},
		}, Verdicts: []string{"Output tokens/s, container against native: inconclusive. 371 tok/s against 379 tok/s, -2.1 % (-6.2 to +2.1), n = 2 and 2 runs."}},
	}
	for i := range 60 {
		s := Second{Rates{1, 380, 300 + 5*float64(i)}, .3 + .01*float64(i%7), .4, .02, .03}
		if i == 50 {
			s = Second{Rates{}, math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		}
		p.History = append(p.History, s)
	}
	return p
}

// drawn returns lines as text, and each style that is not empty in brackets around its span.
func drawn(lines [][]render.Span, styles bool) string {
	var b strings.Builder
	for _, line := range lines {
		var l strings.Builder
		for _, s := range line {
			if styles && s.Style != "" {
				l.WriteString("[" + s.Style + ":" + s.Text + "]")
			} else {
				l.WriteString(s.Text)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return b.String()
}

func TestProgressIsDrawnForEachWidth(t *testing.T) {
	var got strings.Builder
	for _, columns := range []int{40, 80, 200} {
		got.WriteString(strconv.Itoa(columns) + " columns\n" + drawn(goldenProgress().Draw(columns), false) + "\n")
	}
	waits := Progress{At: progressAt, State: rundir.StateRunning, Run: "20261105T120500-container-0002", Arm: metric.ArmContainer, Phase: metric.PhaseCooldown, PhaseNumber: 1, ElapsedSeconds: 12,
		Waiting: "gate gpu_celsius at 68 C, 62 C wanted", WaitingSeconds: new(1787.0), Series: goldenProgress().Series}
	got.WriteString("waiting\n" + drawn(waits.Draw(80), true) + "\n")
	got.WriteString("styles\n" + drawn(goldenProgress().Draw(80), true))
	path := filepath.Join("testdata", "progress.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got.String() {
		t.Errorf("%s is not what is drawn (%v); -update writes it anew:\n%s", path, err, got.String())
	}
}

// TestNoTextBreaksADrawing draws hostile texts at every width: no line is wider, and none has a control character.
func TestNoTextBreaksADrawing(t *testing.T) {
	for _, hostile := range []string{"\x1b[2J\x1b]0;title\a", "a\nb\rc\td", "模型模型模型模型模型模型模型模型模型模型模型模型", strings.Repeat("x", 400), "\u202eevil\u200b", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "<script>alert(1)</script>", "e\u0301\u0301\u0301", "\xff\xfe"} {
		p := goldenProgress()
		p.Run, p.Arm, p.Model, p.Scenario, p.Phase, p.Machines[0].Host = hostile, hostile, hostile, hostile, hostile, hostile
		p.Series.Name, p.Series.Results, p.Series.Verdicts, p.Series.Point = hostile, hostile, []string{hostile + " " + hostile}, hostile
		p.Series.Runs[0].Name, p.Series.Runs[1].Status, p.Waiting, p.WaitingSeconds = hostile, hostile, hostile, new(3.0)
		for columns := leastColumns; columns <= mostColumns; columns++ {
			for _, line := range p.Draw(columns) {
				if got := width(line); got > columns {
					t.Fatalf("%q at %d columns: a line of %d: %q", hostile, columns, got, line)
				}
				for _, s := range line {
					if strings.ContainsFunc(s.Text, func(r rune) bool { return !unicode.IsPrint(r) }) || s.Text != ansi.Strip(s.Text) {
						t.Fatalf("%q at %d columns: %q", hostile, columns, s.Text)
					}
				}
			}
		}
	}
}

func TestARunOfWhichNothingIsKnownYetIsDrawn(t *testing.T) {
	for _, p := range []Progress{{}, {State: rundir.StateRunning, Run: "r", Phase: rundir.PhaseMeasure, Requests: &RequestCounts{}}, {Waiting: "a pause", Series: &Series{}}, {Machines: []Machine{{Host: "h"}, {LedgerBytes: map[string]float64{ledger.Unattributed: -1}}}}} {
		if got := drawn(p.Draw(80), false); strings.Contains(got, "NaN") || strings.Contains(got, "%!") {
			t.Error(got)
		}
	}
}

// TestTheBandsOfMemoryFillTheBar holds that the bar has one mark a column, however small a band is.
func TestTheBandsOfMemoryFillTheBar(t *testing.T) {
	m := goldenProgress().Machines[0]
	for columns := 28; columns <= 288; columns++ {
		if bar, _ := m.memory(columns); width(bar) != columns {
			t.Fatalf("%d columns: %d", columns, width(bar))
		}
	}
}

// TestNoFigureIsCutOff draws in the least width: reasons of failures and amounts of memory are whole.
func TestNoFigureIsCutOff(t *testing.T) {
	p := goldenProgress()
	p.Requests.FailedBy = map[openai.Status]int64{openai.StatusTimeout: 111, openai.StatusHTTP: 222, openai.StatusTruncated: 333, openai.StatusConnect: 444}
	p.Machines[0].LedgerBytes[ledger.Managed] = 151 << 20
	got := strings.Join(strings.Fields(drawn(p.Draw(leastColumns), false)), " ")
	for _, want := range []string{"444 connect, 222 http, 111 timeout, 333 truncated", "▓ 151 MiB", "= 31.5 GiB"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func TestACurveBeginsAtZero(t *testing.T) {
	for want, values := range map[string][]float64{"▁▁": {0, 0}, "▁▅█": {0, 5, 10}, "█ █": {3, math.NaN(), 3}, "": nil, "  ": {math.NaN(), math.NaN()}} {
		if got := curve(values); got != want {
			t.Errorf("%v: %q, want %q", values, got, want)
		}
	}
}

// TestAnArenaShowsTheRatesOfItsCells in place of percentiles, for which a cell has too few requests.
func TestAnArenaShowsTheRatesOfItsCells(t *testing.T) {
	p := Progress{At: progressAt, Series: &Series{Kind: rundir.KindArena, Name: "a1", Number: 2, Of: 28, Point: "pp2048 tg128 (c5)", EndsAt: new(progressAt.Add(72 * time.Minute)), Runs: []SeriesRun{
		{Name: "pp2048 tg128 (c1)", Status: "finished", PP: new(2913.), TG: new(48.8), OutputTokensPerSecond: new(38.1), TTFTP50Seconds: new(.7)},
		{Name: "pp2048 tg128 @ d4096 (c5)", Status: "invalid", Why: "depth_evicted", PP: new(2800.)},
	}}}
	var text strings.Builder
	for _, line := range p.Draw(100) {
		for _, span := range line {
			text.WriteString(span.Text)
		}
		text.WriteString("\n")
	}
	for _, want := range []string{"cell 2 of 28", "about 1h12m left", "pp t/s  tg t/s  tokens/s", "2913    48.8      38.1", "2800       –         –"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "TTFT") {
		t.Errorf("percentiles of a cell:\n%s", text.String())
	}
}
