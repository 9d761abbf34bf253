package history

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/rank"
	"github.com/umascope/umascope/loadgen/summary"
)

// twoRequests are lines of requests.jsonl: one of a phase that is over, one of a phase that never ended.
const twoRequests = `{"run":"a","phase":"warmup","index":0,"status":"ok","intended_ns":0,"eligible_ns":0,"dispatch_ns":0,"first_token_ns":1000000,"arrivals_ns":[1000000,1000000],"end_ns":2000000,"tokens_out":2,"output_chars":2}
{"run":"a","phase":"measure","index":1,"status":"ok","intended_ns":5000000,"eligible_ns":5000000,"dispatch_ns":5000000,"first_token_ns":7000000,"arrivals_ns":[7000000,2000000],"end_ns":9000000,"tokens_out":2,"output_chars":2}
{"run":"a","phase":"measure","index":2,"status":"ok","inte`

// killed is the folder of a run that was killed in its measured phase.
func killed(t *testing.T, change func(*folder.Manifest)) string {
	t.Helper()
	dir := t.TempDir()
	r := complete("a")
	r.Manifest.State, r.Manifest.EndedAt = folder.StateRunning, nil
	r.Manifest.Judging = &folder.Judging{Streaming: true, Unmeasured: []string{"warmup"}, Warnings: []string{"said before"}}
	if change != nil {
		change(&r.Manifest)
	}
	f := folder.Folder(dir)
	phases := folder.Phases{Schema: folder.PhasesSchema, Phases: []folder.Span{{Name: "warmup", EndNS: 4_000_000}}}
	if err := errors.Join(f.WriteJSON(folder.ManifestFile, r.Manifest), f.WriteJSON(folder.PhasesFile, phases), os.WriteFile(f.Path(folder.RequestsFile), []byte(twoRequests), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAKilledRunEndsWithWhatItWroteLast(t *testing.T) {
	dir := killed(t, nil)
	if _, err := Open(dir); !errors.Is(err, ErrUnfinished) {
		t.Fatalf("it is not unfinished: %v", err)
	}
	r, page, err := Recompute(dir)
	if err != nil {
		t.Fatal(err)
	}
	measured := page.Summary.Phases["measure"]
	if measured.Start != 0.005 || measured.End != 0.009 || measured.Requests["ok"] != 1 || page.Summary.Phases["warmup"].End != 0.004 {
		t.Errorf("phases %+v", page.Summary.Phases)
	}
	if page.Summary.Requests["ok"] != 1 || page.Summary.Valid || page.Drawn == nil || r.Summary.Run != "a" {
		t.Errorf("%v, valid %t", page.Summary.Requests, page.Summary.Valid)
	}
	why := ""
	for _, reason := range page.Summary.InvalidReasons {
		why += reason.Detail
	}
	if !strings.Contains(why, "killed") || !strings.Contains(strings.Join(page.Summary.Warnings, ";"), "said before") {
		t.Errorf("reasons %v, warnings %v", page.Summary.InvalidReasons, page.Summary.Warnings)
	}
	if o := r.Observation(); o.Valid || o.Metrics["time_to_first_token_send_p50_seconds"] != 0 {
		t.Errorf("a comparison sees %v", o.Metrics)
	}
}

func TestWhatHasNoFiguresToComputeSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*folder.Manifest)
		want   error
		says   string
	}{
		"a rank":               {func(m *folder.Manifest) { m.Rank = &folder.Share{Place: rank.Place{World: 2}} }, ErrShare, ""},
		"a merged run":         {func(m *folder.Manifest) { m.Ranks = &folder.Ranks{} }, ErrMerged, ""},
		"a recorded command":   {func(m *folder.Manifest) { m.Command = &folder.Command{} }, ErrNoRequests, ""},
		"an imported run":      {func(m *folder.Manifest) { m.Imported = &folder.Imported{} }, ErrNoRequests, ""},
		"one that never began": {func(m *folder.Manifest) { m.Judging = nil }, ErrNotBegun, ""},
		"bad limits":           {func(m *folder.Manifest) { m.Judging.Validity = []string{"nonsense"} }, nil, "--validity"},
		"a bad objective":      {func(m *folder.Manifest) { m.Judging.SLO = "nonsense" }, nil, "--slo"},
	} {
		dir := killed(t, c.change)
		_, _, err := Recompute(dir)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), dir+": ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := killed(t, nil)
	if err := os.Remove(folder.Folder(dir).Path(folder.RequestsFile)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Recompute(dir); !errors.Is(err, ErrNotBegun) {
		t.Errorf("without requests: %v", err)
	}
}

func TestADamagedFileIsNamed(t *testing.T) {
	for name, file := range map[string]string{"requests": folder.RequestsFile, "telemetry": folder.TelemetryFile, "phases": folder.PhasesFile} {
		dir := killed(t, nil)
		if err := os.WriteFile(folder.Folder(dir).Path(file), []byte("{}}\nnonsense\n{}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Recompute(dir); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestThePageOfARunWithoutRequestsHasItsSummary(t *testing.T) {
	dir := t.TempDir()
	complete("a").write(t, dir)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Page()
	if err != nil || page.Drawn != nil || page.Telemetry != nil || page.Summary.Run != "a" || page.Summary.Schema != summary.Schema {
		t.Errorf("%+v, %v", page, err)
	}
}
