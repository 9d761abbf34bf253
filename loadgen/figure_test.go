package loadgen

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// runWithAllFigures returns a run that has every figure of the catalogue.
func runWithAllFigures(t *testing.T, id, arm string) summary.Run {
	t.Helper()
	v := new(2.)
	d := &summary.Distribution{N: 9, Mean: v, P50: v, P95: v, P99: v}
	both := &summary.Clocks{Send: d, Intended: d}
	through := summary.Throughput{DurationSeconds: v, RequestsPerSecond: v, OutputTokensPerSecond: v, InputTokensPerSecond: v}
	live := summary.Origin{Source: "spark1", Mode: metric.ModeLive}
	labels := map[string]string{"arm": arm, "host": "spark1"}
	tool := &rundir.ToolReport{Program: "bench"}
	for _, q := range enginelog.Quantities() {
		for _, statistic := range []string{"", "mean", "p50", "p95", "p99"} {
			tool.Values = append(tool.Values, enginelog.NewValue(q.Name, statistic, 2))
		}
	}
	r := summary.Run{
		Manifest: rundir.Manifest{Run: id, Labels: labels, StartedAt: time.Date(2026, 3, 1, 10, len(id), 0, 0, time.UTC)},
		Summary: summary.Summary{
			Run: id, Labels: labels, Valid: true, Requests: map[openai.Status]int{openai.StatusOK: 9, openai.StatusHTTP: 1},
			Throughput: through, SteadyState: &summary.SteadyState{Throughput: through}, Backlog: &summary.Backlog{},
			SLO:     &summary.SLOResult{Requests: 10, Good: 9, Ratio: .9, RequestsPerSecond: v},
			Latency: &summary.Latency{TTFT: both, TTFO: both, TPOT: both, ChunkGap: &summary.ChunkGap{Send: d}, ITL: both, E2E: both, QueueDelay: d, ClientLag: d},
			Tokens:  summary.Tokens{Input: d, Output: d},
			Memory: &summary.Memory{
				Origin: live, Pool: v, OccupiedWithoutKV: v, OccupiedPeak: v, UnavailablePeak: v, AvailableMin: v, CUDAFreeMin: v, FreeAtKVSizing: v, GPUHeldPeak: v,
				LedgerAt:       &summary.Ledgers{Ready: map[string]float64{ledger.Free: 2}},
				EngineReported: &rundir.EngineReport{Source: "log", Peak: v, NonTorch: v, KV: v, KVTokens: v, Weights: v, Compute: v},
			},
			KV: &summary.KV{CapacityBytes: v, CapacityTokens: v}, Thermal: &summary.Thermal{Origin: live, StartCelsius: v, MaxCelsius: v, EndCelsius: v},
			Energy: &summary.Energy{Origin: live, Joules: 2, JoulesPerOutputToken: v}, Phases: map[string]summary.PhaseSummary{"measure": {End: 1, Measured: true}},
			Work: &summary.Work{Origin: live, GPUUtilizationMean: v, Drives: map[string]summary.DriveBytes{"nvme0n1": {Read: v, Written: v}}},
			Tool: tool,
		},
	}
	for _, f := range figure.All() {
		if f.Get(&r.Summary) == nil {
			t.Errorf("the run lacks %s: give it to runWithAllFigures", f.Name)
		}
	}
	return r
}

// A new figure is one entry of the catalogue: what iterates it shows every entry with a column there, and nothing that it
// does not have.
func TestEveryFigureOfTheCatalogueIsInTheTablesThatItHasAColumnIn(t *testing.T) {
	var runs []summary.Run
	var observed []compare.Run
	for i, arm := range []string{"a", "b", "a", "b"} {
		r := runWithAllFigures(t, fmt.Sprint("run", strings.Repeat("x", i)), arm)
		runs, observed = append(runs, r), append(observed, compare.FromRun(r))
	}
	all := report.NewRuns(runs, []string{"runs"}, "")
	var table, bench, book, compared, slots bytes.Buffer
	if err := all.WriteMarkdown(&table); err != nil {
		t.Fatal(err)
	}
	for _, f := range figure.All().Columns(figure.InReport) {
		if !strings.Contains(table.String(), " "+f.Column.Heading+" |") {
			t.Errorf("%s has no column %q in the report", f.Name, f.Column.Heading)
		}
	}
	if err := all.WriteBenchstat(&bench); err != nil {
		t.Fatal(err)
	}
	for _, f := range figure.All().Columns(figure.InBench) {
		if !strings.Contains(bench.String(), " 2 "+f.Bench.Heading) {
			t.Errorf("%s is not %q for benchstat", f.Name, f.Bench.Heading)
		}
	}
	if err := all.WriteWorkbook(&book); err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare(observed, compare.Options{By: "arm", Baseline: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := comparison.CSV(&compared, c); err != nil {
		t.Fatal(err)
	}
	header := firstRow(t, &book)
	for _, f := range figure.Compared() {
		if !slices.Contains(header, f.Name) {
			t.Errorf("%s is not in the workbook", f.Name)
		}
		if !strings.Contains(compared.String(), ","+f.Name+",") {
			t.Errorf("%s is not in the comparison", f.Name)
		}
	}
	slot := campaign.SlotFacts{Status: campaign.Finished, Runs: []string{runs[0].Manifest.Run}}
	if err := campaign.WriteTable(&slots, []campaign.SlotFacts{slot}, func(campaign.SlotFacts) *summary.Summary { return &runs[0].Summary }); err != nil {
		t.Fatal(err)
	}
	columns, err := csv.NewReader(&slots).Read()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range figure.All().Columns(figure.InTable) {
		want = append(want, f.Table.Heading)
	}
	if got := columns[max(0, len(columns)-len(want)):]; !slices.Equal(got, want) {
		t.Errorf("columns of the table of a campaign %q, want %q", got, want)
	}
}

// firstRow returns the first row of the first sheet of a workbook.
func firstRow(t *testing.T, book *bytes.Buffer) []string {
	t.Helper()
	file, err := excelize.OpenReader(book)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := file.GetRows(file.GetSheetName(0))
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows[0]
}
