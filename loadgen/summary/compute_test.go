package summary

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// twoRequests are lines of requests.jsonl: one of a phase that is over, one of a phase that never ended.
const twoRequests = `{"run":"a","phase":"warmup","index":0,"status":"ok","intended_ns":0,"eligible_ns":0,"dispatch_ns":0,"first_token_ns":1000000,"arrivals_ns":[1000000,1000000],"end_ns":2000000,"tokens_out":2,"output_chars":2}
{"run":"a","phase":"measure","index":1,"status":"ok","intended_ns":5000000,"eligible_ns":5000000,"dispatch_ns":5000000,"first_token_ns":7000000,"arrivals_ns":[7000000,2000000],"end_ns":9000000,"tokens_out":2,"output_chars":2}
{"run":"a","phase":"measure","index":2,"status":"ok","inte`

// killed is the folder of a run that was killed in its measured phase.
func killed(t *testing.T, change func(*rundir.Manifest)) string {
	t.Helper()
	dir := t.TempDir()
	m := rundir.Manifest{
		Schema: rundir.ManifestSchema, Run: "a", Scenario: "standard", State: rundir.StateRunning,
		Labels:  map[string]string{"arm": "a", "host": "spark1"},
		Judging: &rundir.Judging{Streaming: true, Unmeasured: []string{"warmup"}, Warnings: []string{"said before"}},
	}
	if change != nil {
		change(&m)
	}
	f := rundir.Folder(dir)
	phases := rundir.Phases{Schema: rundir.PhasesSchema, Phases: []rundir.Span{{Name: "warmup", EndNS: 4_000_000}}}
	if err := errors.Join(f.WriteJSON(rundir.ManifestFile, m), f.WriteJSON(rundir.PhasesFile, phases), os.WriteFile(f.Path(rundir.RequestsFile), []byte(twoRequests), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAKilledRunEndsWithWhatItWroteLast(t *testing.T) {
	dir := killed(t, nil)
	if _, err := Open(dir); !errors.Is(err, ErrUnfinished) {
		t.Fatalf("it is not unfinished: %v", err)
	}
	r, err := Read(dir, supported.Engines())
	if err != nil {
		t.Fatal(err)
	}
	measured := r.Summary.Phases["measure"]
	if measured.Start != 0.005 || measured.End != 0.009 || measured.Requests["ok"] != 1 || r.Summary.Phases["warmup"].End != 0.004 {
		t.Errorf("phases %+v", r.Summary.Phases)
	}
	if r.Summary.Requests["ok"] != 1 || r.Summary.Valid || r.Summary.Run != "a" {
		t.Errorf("%v, valid %t", r.Summary.Requests, r.Summary.Valid)
	}
	why := ""
	for _, reason := range r.Summary.InvalidReasons {
		why += reason.Detail
	}
	if !strings.Contains(why, "killed") || !strings.Contains(strings.Join(r.Summary.Warnings, ";"), "said before") {
		t.Errorf("reasons %v, warnings %v", r.Summary.InvalidReasons, r.Summary.Warnings)
	}
	if drawn, err := r.Requests(); err != nil || drawn == nil {
		t.Errorf("its requests cannot be drawn: %v", err)
	}
}

func TestARunWithoutFiguresToComputeIsAnErrorWithTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rundir.Manifest)
		want   error
		says   string
	}{
		"a rank":               {func(m *rundir.Manifest) { m.Rank = &rundir.Share{Place: traffic.Place{World: 2}} }, ErrShare, ""},
		"a merged run":         {func(m *rundir.Manifest) { m.Ranks = &rundir.Ranks{} }, ErrMerged, ""},
		"a recorded command":   {func(m *rundir.Manifest) { m.Command = &rundir.Command{} }, ErrNoRequests, ""},
		"an imported run":      {func(m *rundir.Manifest) { m.Imported = &rundir.Imported{} }, ErrNoRequests, ""},
		"one that never began": {func(m *rundir.Manifest) { m.Judging = nil }, ErrNotBegun, ""},
		"bad limits":           {func(m *rundir.Manifest) { m.Judging.Validity = []string{"nonsense"} }, nil, "--validity"},
		"a bad objective":      {func(m *rundir.Manifest) { m.Judging.SLO = "nonsense" }, nil, "--slo"},
	} {
		dir := killed(t, c.change)
		_, err := Compute(dir, supported.Engines())
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), dir+": ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := killed(t, nil)
	if err := os.Remove(rundir.Folder(dir).Path(rundir.RequestsFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Compute(dir, supported.Engines()); !errors.Is(err, ErrNotBegun) {
		t.Errorf("without requests: %v", err)
	}
}

func TestADamagedFileIsNamed(t *testing.T) {
	for name, file := range map[string]string{"requests": rundir.RequestsFile, "telemetry": rundir.TelemetryFile, "phases": rundir.PhasesFile} {
		dir := killed(t, nil)
		if err := os.WriteFile(rundir.Folder(dir).Path(file), []byte("{}}\nnonsense\n{}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Compute(dir, supported.Engines()); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
