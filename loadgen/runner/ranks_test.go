package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// base is when rank 0 of the tests starts, and begin when the measured load does.
var (
	base  = time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	begin = base.Add(10 * time.Second)
)

// startedAfter is how much later than rank 0 a rank starts.
func startedAfter(r int) time.Duration { return time.Duration(r) * 137 * time.Millisecond }

// rankManifest is that of a rank of a constant load of as many requests.
func rankManifest(r, world, requests int) rundir.Manifest {
	place := traffic.Place{Rank: r, World: world, Source: "--rank and --world"}
	return rundir.Manifest{
		Schema: rundir.ManifestSchema, Run: place.Run("load"), Scenario: "standard", State: rundir.StateComplete,
		Labels:    map[string]string{"arm": "a", "host": "spark"},
		StartedAt: base.Add(startedAfter(r)), EndedAt: new(base.Add(time.Minute + startedAfter(r))),
		Rank:   &rundir.Share{Place: place, Of: "load", StartAt: begin, Clock: &traffic.Clock{Synchronised: true, MaxErrorSeconds: 0.001}},
		Flags:  map[string]string{"rate": "10", "rank": fmt.Sprint(r)},
		Seed:   7,
		Server: rundir.Server{Model: "m"},
		Client: rundir.Client{Hostname: "one", BootID: "boot"},
		Workload: rundir.Workload{SHA256: "w", Phases: []rundir.PlannedPhase{{
			Name: rundir.PhaseMeasure, Process: traffic.ArrivalProcess{Arrival: traffic.Constant, RatePerSecond: 10}, Limit: traffic.Limit{Requests: requests},
		}}},
		Judging: &rundir.Judging{
			Streaming: true, Unmeasured: []string{rundir.PhaseReady, rundir.PhaseWarmup, rundir.PhaseStop},
			Client: rundir.ClientHealth{Watched: true},
			Model:  rundir.ModelFindings{Checked: true, Compared: true, Guarded: true},
			KVMode: rundir.KVFindings{Checked: true},
		},
	}
}

// rankRecord is a request of the constant load as its rank writes it: due every 100 ms, answered in 50.
func rankRecord(r, world, index int) openai.Record {
	due := int64(begin.Sub(base)-startedAfter(r)) + int64(index)*100*ms
	return openai.Record{
		Run: "other", Phase: rundir.PhaseMeasure, Index: index, Rank: &r, Status: openai.StatusOK,
		IntendedNS: due, EligibleNS: &due, DispatchNS: &due, FirstTokenNS: new(due + 20*ms), FirstVisibleNS: new(due + 20*ms),
		ArrivalsNS: []int64{due + 20*ms, 30 * ms}, ReadIDs: []int{0, 1}, ArrivalKinds: "tt", EndNS: new(due + 50*ms),
		TokensIn: new(10), TokensOut: new(2), HTTPStatus: 200,
	}
}

func scheduleLine(index int) string {
	return fmt.Sprintf(`{"phase":"measure","index":%d,"planned_ns":%d,"prompt_sha256":"p%d","params_sha256":"q","input_tokens_target":10,"max_tokens":2}`+"\n", index, int64(index)*100*ms, index)
}

func jsonLine(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// rankFolder are those of a rank by their names.
type rankFolder map[string]string

// rankFiles are those of a rank of a whole load, altered.
func rankFiles(t *testing.T, r, world, requests int, alter func(*rundir.Manifest)) rankFolder {
	t.Helper()
	m := rankManifest(r, world, requests)
	if alter != nil {
		alter(&m)
	}
	f := rankFolder{}
	measure := int64(begin.Sub(base) - startedAfter(r))
	f[rundir.PhasesFile] = jsonLine(t, rundir.Phases{Schema: rundir.PhasesSchema, Phases: []rundir.Span{
		{Name: rundir.PhaseReady, StartNS: 0, EndNS: 1000 * ms},
		{Name: rundir.PhaseMeasure, StartNS: measure, EndNS: measure + 1000*ms + int64(r)},
		{Name: rundir.PhaseStop, StartNS: measure + 1000*ms + int64(r), EndNS: measure + 2000*ms},
	}})
	for index := range requests {
		if !(traffic.Place{Rank: r, World: world}).Takes(index) {
			continue
		}
		f[rundir.ScheduleFile] += scheduleLine(index)
		f[rundir.RequestsFile] += jsonLine(t, rankRecord(r, world, index))
		f[rundir.OutputsFile] += jsonLine(t, rundir.OutputLine{Run: m.Run, Phase: rundir.PhaseMeasure, Index: index, Output: fmt.Sprintf("<%d>", index)})
	}
	f[rundir.ManifestFile] = jsonLine(t, m)
	return f
}

func (f rankFolder) write(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range f {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// ranks writes the folders of a whole load of 10 requests, the last rank first.
func ranks(t *testing.T, world int, alter func(r int, m *rundir.Manifest)) []string {
	t.Helper()
	out := t.TempDir()
	var paths []string
	for r := world - 1; r >= 0; r-- {
		f := rankFiles(t, r, world, 10, func(m *rundir.Manifest) {
			if alter != nil {
				alter(r, m)
			}
		})
		paths = append(paths, f.write(t, filepath.Join(out, fmt.Sprintf("r%d", r))))
	}
	return paths
}

func openRanks(t *testing.T, paths []string) *SharedRun {
	t.Helper()
	w, err := OpenRanks(paths, false)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRanksOfOneRunComeInTheirOrderOnTheClockOfTheFirstToStart(t *testing.T) {
	w := openRanks(t, ranks(t, 3, func(r int, m *rundir.Manifest) {
		m.StartedAt = base.Add([]time.Duration{20, 5, 0}[r] * time.Millisecond)
	}))
	var got []string
	for _, p := range w.Parts {
		got = append(got, fmt.Sprint(p.rank(), p.ShiftNS/ms))
	}
	if want := []string{"0 20", "1 5", "2 0"}; !slices.Equal(got, want) || !w.StartedAt.Equal(base) || w.World != 3 || w.Name() != "load" || w.Missing != nil {
		t.Errorf("%v from %v, %+v", got, w.StartedAt, w)
	}
}

func TestFoldersThatAreNotRanksOfOneRunAreRefusedByName(t *testing.T) {
	for name, alter := range map[string]func(m *rundir.Manifest){
		"its world is 5":              func(m *rundir.Manifest) { m.Rank.World = 5 },
		"its start is":                func(m *rundir.Manifest) { m.Rank.StartAt = begin.Add(1) },
		`its scenario is "x"`:         func(m *rundir.Manifest) { m.Scenario = "x" },
		`its arm is "b"`:              func(m *rundir.Manifest) { m.Labels["arm"] = "b" },
		"its seed is 8":               func(m *rundir.Manifest) { m.Seed = 8 },
		`its model is "\x1b[2Jm"`:     func(m *rundir.Manifest) { m.Server.Model = "\x1b[2Jm" },
		`its workload is "v"`:         func(m *rundir.Manifest) { m.Workload.SHA256 = "v" },
		`its --slo is "e2e=1s"`:       func(m *rundir.Manifest) { m.Judging.SLO = "e2e=1s" },
		`its --validity is "a=off"`:   func(m *rundir.Manifest) { m.Judging.Validity = []string{"a=off"} },
		"it is rank 1, and so is":     func(m *rundir.Manifest) { m.Rank.Rank = 1 },
		"no rank of a run":            func(m *rundir.Manifest) { m.Rank = nil },
		"no rank of a run (--rank":    func(m *rundir.Manifest) { m.Rank.World = 1 },
		"it says that it is rank 9 o": func(m *rundir.Manifest) { m.Rank.Rank = 9 },
		"it is rank 2 of 100001":      func(m *rundir.Manifest) { m.Rank.World = traffic.MaxWorld + 1 },
		"it started at 9999-":         func(m *rundir.Manifest) { m.StartedAt = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
		"never began":                 func(m *rundir.Manifest) { m.Judging = nil },
		"never began to":              func(m *rundir.Manifest) { m.StartedAt = time.Time{} },
		`its form is "other/1"`:       func(m *rundir.Manifest) { m.Schema = "other/1" },
	} {
		paths := ranks(t, 3, func(r int, m *rundir.Manifest) {
			if r == 2 {
				alter(m)
			}
		})
		_, err := OpenRanks(paths, false)
		at := paths[0]
		if strings.Contains(name, "so is") {
			at = paths[1] // of two that say the same, the later one on the command line
		}
		if err == nil || !strings.HasPrefix(err.Error(), at+": ") || !strings.Contains(err.Error(), name) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAMissingRankIsRefusedUnlessItIsAllowed(t *testing.T) {
	paths := ranks(t, 4, nil)
	if _, err := OpenRanks(paths[1:3], false); err == nil || !strings.Contains(err.Error(), "ranks 0, 3 are missing") {
		t.Errorf("%v", err)
	}
	w, err := OpenRanks(paths[1:3], true)
	if err != nil || !slices.Equal(w.Missing, []int{0, 3}) {
		t.Fatalf("%+v, %v", w, err)
	}
	if got := w.stopped(); got != "of 4 ranks ranks 0, 3 are missing" {
		t.Errorf("stopped: %q", got)
	}
	if _, err := OpenRanks(nil, true); err == nil {
		t.Error("nothing was merged")
	}
}

func TestAFolderThatCannotBeReadIsAnError(t *testing.T) {
	good := ranks(t, 2, nil)
	for name, f := range map[string]rankFolder{
		"no manifest":     {},
		"garbage":         {rundir.ManifestFile: "{"},
		"garbage, phases": {rundir.ManifestFile: jsonLine(t, rankManifest(1, 2, 10)), rundir.PhasesFile: "x"},
	} {
		path := f.write(t, filepath.Join(t.TempDir(), "r"))
		if _, err := OpenRanks([]string{good[1], path}, false); err == nil || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheScheduleIsThatOfOneRunByteForByte(t *testing.T) {
	var whole strings.Builder
	for index := range 10 {
		whole.WriteString(scheduleLine(index))
	}
	for world := 2; world <= 5; world++ {
		var got bytes.Buffer
		if err := openRanks(t, ranks(t, world, nil)).schedule(t.Context(), &got); err != nil || got.String() != whole.String() {
			t.Errorf("%d ranks: %v\n%s", world, err, got.String())
		}
	}
}

func TestAScheduleWithARequestTwiceOrNeverIsRefused(t *testing.T) {
	twoRanks := func(change func(rankFolder)) (*SharedRun, []string) {
		out := t.TempDir()
		var paths []string
		for r := range 2 {
			f := rankFiles(t, r, 2, 4, nil)
			if r == 1 {
				change(f)
			}
			paths = append(paths, f.write(t, filepath.Join(out, fmt.Sprint(r))))
		}
		return openRanks(t, paths), paths
	}
	for want, change := range map[string]func(rankFolder){
		"request 2 of measure is planned there and in":  func(f rankFolder) { f[rundir.ScheduleFile] = scheduleLine(1) + scheduleLine(2) + scheduleLine(3) },
		"request 1 of measure is planned by no rank":    func(f rankFolder) { f[rundir.ScheduleFile] = scheduleLine(3) },
		`"other" is no phase of the plan`:               func(f rankFolder) { f[rundir.ScheduleFile] = `{"phase":"other","index":0}` + "\n" },
		"invalid character":                             func(f rankFolder) { f[rundir.ScheduleFile] = "garbage\n" },
		"request -1 of measure is planned there and in": func(f rankFolder) { f[rundir.ScheduleFile] = `{"phase":"measure","index":-1}` + "\n" },
	} {
		w, _ := twoRanks(change)
		if err := w.schedule(t.Context(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	// A rank that is known to be missing has its requests, and a torn last line is of a killed process.
	w, paths := twoRanks(func(f rankFolder) { f[rundir.ScheduleFile] += `{"phase":"mea` })
	if err := w.schedule(t.Context(), &bytes.Buffer{}); err != nil {
		t.Errorf("torn: %v", err)
	}
	alone, err := OpenRanks(paths[1:], true)
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.schedule(t.Context(), &bytes.Buffer{}); err != nil {
		t.Errorf("alone: %v", err)
	}
	// The ranks of a closed loop that ends by time come to different blocks of the plan.
	for i := range alone.Parts {
		alone.Parts[i].Manifest.Workload.Phases[0] = rundir.PlannedPhase{Name: rundir.PhaseMeasure, Process: traffic.ArrivalProcess{Arrival: traffic.Closed}, Limit: traffic.Limit{Duration: time.Hour}}
	}
	alone.Missing = nil
	if err := alone.schedule(t.Context(), &bytes.Buffer{}); err != nil {
		t.Errorf("endless: %v", err)
	}
}

func TestRecordsAreThoseOfOneRunOnOneClock(t *testing.T) {
	paths := ranks(t, 3, nil)
	torn := filepath.Join(paths[1], rundir.RequestsFile)
	text, err := os.ReadFile(torn)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(torn, append(text, `{"run":"x","pha`...), 0o644); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	killed, err := openRanks(t, paths).requests(t.Context(), "whole", &got)
	if err != nil || !slices.Equal(killed, []int{1}) {
		t.Fatalf("torn %v, %v", killed, err)
	}
	index := 0
	for line := range strings.Lines(got.String()) {
		want := rankRecord(0, 1, index) // as one process has it that started with rank 0
		want.Run, want.Rank = "whole", new(index%3)
		if line != jsonLine(t, want) {
			t.Errorf("record %d: %s\nwant %s", index, line, jsonLine(t, want))
		}
		index++
	}
	if index != 10 {
		t.Errorf("%d records", index)
	}
}

func TestOutputsAreKeptUnderTheNameOfTheWhole(t *testing.T) {
	w := openRanks(t, ranks(t, 3, nil))
	path := filepath.Join(t.TempDir(), rundir.OutputsFile)
	var got bytes.Buffer
	if err := w.outputs(t.Context(), "whole", &got); err != nil || !w.haveOutputs() {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	outputs, err := rundir.OpenOutputs(path)
	if err != nil {
		t.Fatal(err)
	}
	defer outputs.Close()
	for index := range 10 {
		text, err := outputs.Find(rundir.PhaseMeasure, index)
		if err != nil || text == nil || *text != fmt.Sprintf("<%d>", index) {
			t.Errorf("output %d: %v, %v", index, text, err)
		}
	}
	if n := strings.Count(got.String(), `{"run":"whole",`); n != 10 || strings.Contains(got.String(), `\u003c`) {
		t.Errorf("%d lines of the whole: %s", n, got.String())
	}
}

func TestAnInterruptEndsAMerge(t *testing.T) {
	w := openRanks(t, ranks(t, 2, nil))
	done, cancel := contextDone(t)
	cancel()
	_, records := w.requests(done, "whole", &bytes.Buffer{})
	for name, err := range map[string]error{"requests": records, "schedule": w.schedule(done, &bytes.Buffer{}), "outputs": w.outputs(done, "whole", &bytes.Buffer{})} {
		if err == nil {
			t.Errorf("%s: went on", name)
		}
	}
}
