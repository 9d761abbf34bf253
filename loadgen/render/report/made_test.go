package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// made is a run of the afternoon in Berlin.
func made(version string) *summary.Made {
	started := time.Date(2026, 11, 23, 14, 53, 39, 0, time.UTC)
	return &summary.Made{
		StartedAt: &started, TimeZone: &rundir.TimeZone{Name: "CET", OffsetSeconds: 3600},
		Program: rundir.Program{Version: "v1.2.0", Revision: "39cfd13aa0b1c2d3e4f5"}, Engine: "vllm", EngineVersion: version,
	}
}

// A report without a date and the versions that made it cannot be told from that of another day.
func TestReportsHaveDateVersionsAndTimeZone(t *testing.T) {
	const line = "2026-11-23 15:53:39 CET (UTC+01:00), vllm 0.32.0, uma-load v1.2.0, revision 39cfd13aa0b1"
	s := summary.Summary{Run: "r", Scenario: "standard", Made: made("0.32.0")}
	var text, md, html strings.Builder
	if err := Text(&text, s); err != nil || !strings.HasPrefix(text.String(), line+"\n") {
		t.Errorf("%v: %s", err, text.String())
	}
	if err := Markdown(&md, s); err != nil {
		t.Error(err)
	}
	if err := HTML(&html, Page{Title: "r", Summary: s}); err != nil {
		t.Error(err)
	}
	var sheet strings.Builder
	for row, err := range SummarySheet(s).Rows {
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range row {
			if text, is := cell.(string); is {
				sheet.WriteString(text + "\n")
			}
		}
	}
	for name, page := range map[string]string{"Markdown": md.String(), "HTML": strings.ReplaceAll(html.String(), "&#43;", "+"), "workbook": sheet.String()} {
		for _, wanted := range []string{"2026-11-23 15:53:39 CET (UTC+01:00)", "vllm 0.32.0", "v1.2.0, revision 39cfd13aa0b1"} {
			if !strings.Contains(page, wanted) {
				t.Errorf("%s lacks %q", name, wanted)
			}
		}
	}
}

func TestUnknownProgramsOfARunAreNamedSo(t *testing.T) {
	started := time.Date(2026, 11, 23, 14, 53, 39, 0, time.UTC)
	for want, of := range map[string]*summary.Made{
		"": nil,
		"2026-11-23 14:53:39 UTC, uma-load of unknown version": {StartedAt: &started},
		"uma-load v1.2.0": {Program: rundir.Program{Version: "v1.2.0", Revision: "unknown"}},
		"vllm of a version that it does not report, uma-load v0.0.0-20261123-39cfd13aa0b1+dirty": {Engine: "vllm", Program: rundir.Program{Version: "v0.0.0-20261123-39cfd13aa0b1+dirty", Revision: "39cfd13aa0b1c2"}},
	} {
		if got := madeText(of); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Runs of a group differ in their start: from the first to the last, by the clock of the first. Versions that they share stand
// once.
func TestAGroupHasThePeriodOfItsRunsAndWhatTheyShare(t *testing.T) {
	first, second, third := made("0.32.0"), made("0.33.0"), made("0.32.0")
	later := first.StartedAt.Add(10 * time.Minute)
	second.StartedAt, second.TimeZone = &later, nil
	g := Group{Members: []Member{{Summary: &summary.Summary{Scenario: "s", Made: second}}, {}, {Summary: &summary.Summary{Scenario: "s", Made: first}}}}
	want := []render.Fact{fact("started", "2026-11-23 15:53:39 CET (UTC+01:00) to 2026-11-23 16:03:39 CET (UTC+01:00)"), fact("scenario", "s"), fact("uma-load", "v1.2.0, revision 39cfd13aa0b1")}
	if got := g.identity(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	g = Group{Members: []Member{{Summary: &summary.Summary{Scenario: "s", Made: first}}, {Summary: &summary.Summary{Scenario: "s", Made: third}}}}
	if got := g.identity(); len(got) != 4 || got[1] != fact("started", "2026-11-23 15:53:39 CET (UTC+01:00)") {
		t.Errorf("runs of one moment: %v", got)
	}
}
