package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// made is a demo of which nothing but its folder was made.
func made(t *testing.T) *shown {
	t.Helper()
	out := t.TempDir()
	return &shown{
		out: out, folder: filepath.Join(out, "demo-1"), speed: 40, begun: time.Now(), ended: time.Now(),
		campaigns: campaignsOf(showOptions{}), trials: trialsOf(),
	}
}

// reported is the page that a demo writes.
func reported(t *testing.T, s *shown) string {
	t.Helper()
	if err := (Program{}).writeReport(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.out, reportName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnInterruptedDemoHasAPageThatNamesItsGaps(t *testing.T) {
	s := made(t)
	s.interrupted = true
	s.campaigns[0].Fault = "no space left on device"
	text := reported(t, s)
	for _, want := range []string{"This page is partial", "no space left on device", "the demo was ended before it was made"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestLinksOfThePageAreRelativeAndLeadNowhereElse(t *testing.T) {
	s := made(t)
	for path, want := range map[string]string{
		filepath.Join(s.folder, "blocks", "report.html"): "./demo-1/blocks/report.html",
		s.out:                           "./.",
		"/etc/passwd":                   "",
		filepath.Join(s.out, "..", "x"): "",
		"":                              "",
	} {
		if got := s.link("it", path).Address; got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}

func TestCommandsStandThereAsAPersonTypesThem(t *testing.T) {
	got := typed([]string{"run", "--label", "arm=a b", "--set", "it's", "--out", "/tmp/x", ""})
	if want := `uma-load run --label 'arm=a b' --set 'it'\''s' --out /tmp/x ''`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAnAccountAddsUp(t *testing.T) {
	a := account{
		arm: "container", occupiedWithoutKVBytes: 101 * gib, kvBytes: 17 * gib, shmemBytes: 2 * gib, deviceBytes: 24 * gib, pinnedBytes: 8 * gib,
		cachedBytes: map[string]int64{weightsFile: 20 * gib, imageFile: 9 * gib, containerWeightsFile: 20 * gib, "/var/log/journal": gib, "/usr/lib": 2 * gib},
	}
	start := a.page()
	sum, named := 0.0, map[string]float64{}
	for _, parts := range [][]Part{start.Cached, start.Other} {
		for _, p := range parts {
			sum += p.Bytes
			named[p.Name] = p.Bytes
		}
	}
	if sum != start.OccupiedWithoutKVBytes || start.OccupiedWithoutKVBytes != 101*gib || start.KVBytes != 17*gib {
		t.Errorf("parts of %g GiB make %g", start.OccupiedWithoutKVBytes/gib, sum/gib)
	}
	if named["other files"] != 3*gib || named["layers of the image"] != 9*gib || named["all else of the machine"] != 15*gib {
		t.Errorf("%v", named)
	}
}

// trialFolder is the folder of a run that has sent the same prompts three times.
func trialFolder(t *testing.T, s *shown) string {
	t.Helper()
	f, err := rundir.New(s.folder, "rehydrate")
	if err != nil {
		t.Fatal(err)
	}
	sum := summary.Summary{
		Schema: summary.Schema, Run: "rehydrate", Valid: true,
		Phases: map[string]summary.PhaseSummary{
			"warm_A": {}, "pressure_B": {}, "replay_A_1": {}, "replay_A_2": {},
		},
		Signals: evidence.Signals{SSDRehydrate: evidence.Signal{Grade: evidence.Proven, Figures: []evidence.Figure{
			{Name: "kvbm_blocks_from_disk", Value: 900, Unit: "blocks", Expected: evidence.Range{1, math.Inf(1)}, Agrees: true},
		}}},
	}
	if err := f.WriteJSON(rundir.ManifestFile, rundir.Manifest{Schema: rundir.ManifestSchema, Run: "rehydrate"}); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteJSON(rundir.SummaryFile, sum); err != nil {
		t.Fatal(err)
	}
	lines := func(name string, line func(phase string, index int) any) {
		if err := f.Write(name, func(w io.Writer) error {
			for _, phase := range []string{"warm_A", "pressure_B", "replay_A_1", "replay_A_2"} {
				for index := range 5 {
					text, err := json.Marshal(line(phase, index))
					if err != nil {
						return err
					}
					fmt.Fprintf(w, "%s\n", text)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	sample(t, f)
	milliseconds := map[string]int64{"warm_A": 500, "pressure_B": 900, "replay_A_1": 200, "replay_A_2": 20}
	cached := map[string]int{"replay_A_1": 1990, "replay_A_2": 1990}
	lines(rundir.RequestsFile, func(phase string, index int) any {
		return map[string]any{
			"run": "rehydrate", "phase": phase, "index": index, "status": "ok", "dispatch_ns": 0, "intended_ns": 0,
			"first_token_ns": (milliseconds[phase] + int64(index)) * 1e6, "tokens_in": 2000, "tokens_cached": cached[phase],
		}
	})
	lines(rundir.OutputsFile, func(phase string, index int) any {
		text := fmt.Sprintf("answer %d", index)
		if phase == "replay_A_1" && index == 3 {
			text = "something else"
		}
		return map[string]any{"phase": phase, "index": index, "output": text}
	})
	return string(f)
}

// sample writes the telemetry of that run: in the first replay blocks come from the drive, in the second from nowhere.
func sample(t *testing.T, f rundir.Folder) {
	t.Helper()
	var blocks atomic.Int64
	seen := make(chan struct{})
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		name := metric.KVBMBlocksTotal.Def().Name
		fmt.Fprintf(w, "# TYPE %[1]s counter\n%[1]s{source=\"a\",op=\"onboard\",from=\"disk\",to=\"host\"} %[2]d\n", name, blocks.Load())
	}))
	defer page.Close()
	start := time.Now()
	sampler, err := telemetry.Start(t.Context(), telemetry.Options{
		Sources: []telemetry.Source{{Name: trialsHost, URL: page.URL}}, Interval: telemetry.MaxInterval, File: f.Path(rundir.TelemetryFile),
		Clock: func() int64 { return int64(time.Since(start)) }, Page: func(string, int, string, []byte) { seen <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, phase := range []string{"warm_A", "pressure_B", "replay_A_1", "replay_A_2", "stop"} {
		sampler.Mark(phase)
		<-seen
		if phase == "replay_A_1" {
			blocks.Store(900)
		}
	}
	if _, err := sampler.Stop(); err != nil {
		t.Fatal(err)
	}
}

func TestPassesSayWhereTheirKVCacheCameFrom(t *testing.T) {
	s := made(t)
	s.trials[0].folder, s.trials[0].Exit = trialFolder(t, s), exitDone
	page := s.rehydration()
	if page.Fault != "" || page.Absent != "" || page.Run != "rehydrate" || page.Rehydrate.Grade != "proven" || !math.IsInf(page.Rehydrate.Figures[0].Expected[1], 1) {
		t.Errorf("%+v", page)
	}
	want := []string{"still on the device (replay_A_2)", "brought back from the SSD (replay_A_1)", "computed (warm_A)"}
	if len(page.Passes) != len(want) {
		t.Fatalf("%d passes: %+v", len(page.Passes), page.Passes)
	}
	for i, p := range page.Passes {
		if p.Name != want[i] || len(p.Seconds) != 5 {
			t.Errorf("%s with %d requests, want %s", p.Name, len(p.Seconds), want[i])
		}
	}
}

func TestThePromptsThatWereAnsweredOtherwiseAreShown(t *testing.T) {
	s := made(t)
	s.trials[0].folder = trialFolder(t, s)
	page := s.outputs()
	if len(page.Runs) != 2 || page.Runs[0].Run != "" || page.Runs[1].Run != "rehydrate" {
		t.Fatalf("%+v", page.Runs)
	}
	if got := page.Runs[1].Examples; len(got) != 1 || got[0] != (Example{Prompt: 3, Expected: "answer 3", Seen: "something else"}) {
		t.Errorf("%+v", got)
	}
}

func TestATrialThatCannotBeReadShowsItsReason(t *testing.T) {
	s := made(t)
	s.trials[0].folder = filepath.Join(s.folder, "none")
	if page := s.rehydration(); page.Run != "" || !strings.Contains(page.Fault, "none") {
		t.Errorf("%+v", page)
	}
}

// gaugesPage is a page of an exporter with the series that the page of the demo queries; sums has a limit that is far below what is held.
func gaugesPage(temperature float64, held int64) http.Handler {
	scope := containerArm().cgroup
	line := func(d metric.Definer, labels string, value any) string {
		return fmt.Sprintf("# TYPE %s gauge\n%s{%s} %v\n", d.Def().Name, d.Def().Name, labels, value)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, line(metric.GPUTemperatureCelsius, `uuid="g"`, temperature), line(metric.GPUSMClockHertz, `uuid="g"`, 2.4e9), line(metric.GPUPowerWatts, `uuid="g"`, 60),
			line(metric.CgroupMemoryMaxBytes, `cgroup="`+scope+`"`, 64*gib), line(metric.CgroupMemoryCurrentBytes, `cgroup="`+scope+`"`, 12*gib),
			line(metric.GPUProcessMemoryBytes, `uuid="g",pid="7",comm="c",cgroup="`+scope+`"`, held))
	})
}

func TestTheTimelineIsReadOnTheMachinesClock(t *testing.T) {
	store, err := openTimeline(timelineConfig{Dir: filepath.Join(t.TempDir(), "timeline")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := made(t)
	s.timeline = store
	s.machineBegun = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s.machineEnded = s.machineBegun.Add(10 * time.Minute)
	for i := range 120 {
		at := s.machineBegun.Add(time.Duration(i) * 5 * time.Second)
		if i > 60 && i < 80 {
			continue // nobody looked
		}
		held := 50 * gib
		if i == 40 {
			held = 70 * gib
		}
		for _, host := range []string{trialsHost, "spark-blocks"} {
			if err := store.Scrape(t.Context(), scrapeTarget{Handler: gaugesPage(40+float64(i)/2, int64(held)), Path: "/metrics", Job: "uma-exporter", Host: host}, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.events = []Event{{Name: "the room is hot", Alert: "GPUHot", Host: trialsHost, From: s.machineBegun.Add(2 * time.Minute), Until: s.machineBegun.Add(8 * time.Minute)}}
	s.firings = []firing{{Alert: "GPUHot", Severity: "critical", Labels: map[string]string{"host": trialsHost}, Pending: s.machineBegun, From: s.machineBegun}}

	page := s.heat(t.Context())
	if page.Fault != "" || page.Absent != "" || len(page.Curves) != 3 || len(page.Curves[0].Points) < 60 || page.Curves[1].Points[0].Value != 2.4 {
		t.Fatalf("%d curves, %s, %s", len(page.Curves), page.Fault, page.Absent)
	}
	for _, p := range page.Curves[0].Points {
		if since := p.At.Sub(s.machineBegun); since > 60*5*time.Second+3*s.finest() && since < 80*5*time.Second {
			t.Errorf("a point at %v, where nobody looked", since)
		}
	}
	if !strings.HasSuffix(page.Firings[0].Runbook, "#gpuhot") || page.Firings[0].Host != trialsHost {
		t.Errorf("%+v", page.Firings[0])
	}
	limits := s.limits(t.Context())
	if len(limits.Containers) != 1 {
		t.Fatalf("%+v", limits)
	}
	want := Container{Host: "spark-blocks", Cgroup: containerArm().cgroup, At: s.machineBegun.Add(200 * time.Second), LimitBytes: 64 * gib, ChargedBytes: 12 * gib, HeldBytes: 70 * gib}
	if got := limits.Containers[0]; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
