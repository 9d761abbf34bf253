package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/traffic"
	"github.com/umascope/umascope/loadgen/workload"
)

// rankLoad is the workload of a rank by the command line.
func rankLoad(t *testing.T, place traffic.Place, args ...string) *workload.Workload {
	t.Helper()
	var s workload.Settings
	app := kingpin.New("load", "")
	workload.Flags(app, &s)
	args = append([]string{"--warmup=0"}, args...)
	if !slices.Contains(args, "--arrival=trace") {
		args = append(args, "--input-tokens=20:60")
	}
	if _, err := app.Parse(args); err != nil {
		t.Fatal(err)
	}
	s.Place = place
	if err := s.Resolve(openai.Chat); err != nil {
		t.Fatal(err)
	}
	w, err := s.Write(workload.Server{Model: "m", Vendor: server.VendorOf(supported.Engines(), "vllm")})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// rankEngine is a server on a virtual clock, one for all ranks: so many requests are served at a time, in the
// order in which they came, and what is asked decides how long it takes. What one rank sends holds up what
// another does.
type rankEngine struct {
	steady bool // every answer takes the same time
	mutex  sync.Mutex
	free   []time.Time // since when each place is free; none is no limit
	most   int
	busy   int
}

// serve says when the first token of an answer comes, how far apart the others are, and how many there are.
func (e *rankEngine) serve(body []byte) (first time.Time, step time.Duration, tokens int) {
	sum := fnv.New64a()
	sum.Write(body)
	hash := sum.Sum64()
	prefill, tokens := time.Duration(20_000_000+hash%60_000_000), 3+int(hash>>32%6)
	step = time.Duration(5_000_000 + hash>>16%9_000_000)
	if e.steady {
		prefill, step, tokens = 40*time.Millisecond, 10*time.Millisecond, 4
	} else {
		// The way to the server: requests that are sent in one moment come one after the other.
		time.Sleep(time.Duration(hash >> 40))
	}
	first = time.Now()
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.busy++; e.busy > e.most {
		e.most = e.busy
	}
	if len(e.free) > 0 {
		at := 0
		for i, since := range e.free {
			if since.Before(e.free[at]) {
				at = i
			}
		}
		if e.free[at].After(first) {
			first = e.free[at]
		}
		e.free[at] = first.Add(prefill + time.Duration(tokens-1)*step)
	}
	return first.Add(prefill), step, tokens
}

func (e *rankEngine) ended() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.busy--
}

// send is the chat client's Do, without a network.
func (e *rankEngine) send(_ context.Context, j *workload.Job, clock openai.Clock, _ func()) openai.Result {
	r := openai.Record{DispatchNS: new(clock()), Status: openai.StatusOK, HTTPStatus: 200, TokensIn: new(len(j.Request.Body) / 4)}
	first, step, tokens := e.serve(j.Request.Body)
	defer e.ended()
	time.Sleep(time.Until(first))
	r.FirstTokenNS, r.FirstVisibleNS, r.HeadersNS = new(clock()), new(clock()), new(clock())
	r.ArrivalsNS, r.ReadIDs = []int64{clock()}, []int{0}
	for i := 1; i < tokens; i++ {
		time.Sleep(step)
		r.ArrivalsNS, r.ReadIDs = append(r.ArrivalsNS, step.Nanoseconds()), append(r.ReadIDs, i)
	}
	r.EndNS, r.TokensOut, r.ArrivalKinds = new(clock()), &tokens, strings.Repeat("t", tokens)
	return openai.Result{Record: r, Text: fmt.Sprintf("%d tokens, the first after %s", tokens, first.Sub(first.Truncate(time.Hour)))}
}

// startsIn is when the measured load of the tests begins, after the first process started.
const startsIn = 5 * time.Second

// runRank sends a rank's part of a load and writes its folder.
func runRank(t *testing.T, e *rankEngine, w *workload.Workload, place traffic.Place, path string) {
	started := time.Now()
	clock := func() int64 { return time.Since(started).Nanoseconds() }
	lateness := startedAfter(place.Rank)
	loop := &workload.Loop{Clock: clock, Send: e.send, Slots: w.Script.Slots, Grace: time.Minute, Wait: func(ctx context.Context, until int64) error {
		time.Sleep(time.Duration(until - clock()))
		return ctx.Err()
	}}
	var plan, records bytes.Buffer
	sum, err := w.Plan(t.Context(), &plan)
	if err != nil {
		t.Error(err)
	}
	p := w.Phases[0]
	preparing, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := w.Prepare(preparing, p, io.Discard)
	p = w.Share(p)
	p.StartNS = (startsIn - lateness).Nanoseconds()
	var mutex sync.Mutex
	span := loop.Drive(t.Context(), t.Context(), p, q.Jobs(), workload.Observer{
		Started: func() {}, Payload: func() {},
		Ended: func(_ workload.Job, result openai.Result) {
			mutex.Lock()
			defer mutex.Unlock()
			result.Record.Run, result.Record.Rank = place.Run("load"), &place.Rank
			records.WriteString(jsonLine(t, result.Record))
		},
	})
	cancel()
	if err := q.Rest(); err != nil {
		t.Error(err)
	}
	m := rankManifest(place.Rank, max(place.World, 2), 0)
	m.StartedAt, m.Rank.StartAt = started.UTC(), started.UTC().Add(startsIn-lateness)
	m.Workload = rundir.Workload{SHA256: sum}
	for _, p := range w.Phases {
		m.Workload.Phases = append(m.Workload.Phases, rundir.PlannedPhase{Name: p.Name, Process: p.Process, Limit: p.Limit})
	}
	rankFolder{
		rundir.ManifestFile: jsonLine(t, m), rundir.ScheduleFile: plan.String(), rundir.RequestsFile: records.String(),
		rundir.PhasesFile: jsonLine(t, rundir.Phases{Schema: rundir.PhasesSchema, Phases: []rundir.Span{rundir.Span(span)}}),
	}.write(t, path)
}

// shared sends a load by so many processes at once, against one engine, and merges what they wrote. One
// runRank is not merged: it is what the others are compared with.
func shared(t *testing.T, e *rankEngine, world int, args ...string) (whole *SharedRun, path string) {
	t.Helper()
	path = t.TempDir()
	var paths []string
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		for r := range world {
			place := traffic.Place{Rank: r, World: world}
			own := filepath.Join(path, fmt.Sprint(r))
			if world == 1 {
				own = path
			}
			paths = append(paths, own)
			w := rankLoad(t, place, args...)
			running.Go(func() {
				time.Sleep(startedAfter(r))
				runRank(t, e, w, place, own)
			})
		}
		running.Wait()
	})
	if world == 1 {
		return nil, path
	}
	whole = openRanks(t, paths)
	for name, write := range map[string]func(io.Writer) error{
		rundir.ScheduleFile: func(out io.Writer) error { return whole.schedule(t.Context(), out) },
		rundir.RequestsFile: func(out io.Writer) error {
			_, err := whole.requests(t.Context(), "load", out)
			return err
		},
	} {
		if err := rundir.Folder(path).Write(name, write); err != nil {
			t.Fatal(err)
		}
	}
	return whole, path
}

// recordsOf are the records of a folder by phase and number, without their ranks.
func recordsOf(t *testing.T, path string) []openai.Record {
	t.Helper()
	var all []openai.Record
	for r, err := range summary.Records(filepath.Join(path, rundir.RequestsFile)) {
		if err != nil {
			t.Fatal(err)
		}
		r.Rank = nil
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b openai.Record) int { return a.Index - b.Index })
	return all
}

// summaryOf computes the summary of a run that is described like the whole, from the requests of a folder.
func summaryOf(t *testing.T, whole *SharedRun, phases []rundir.Span, requests string) string {
	t.Helper()
	f := rundir.Folder(t.TempDir())
	m := whole.manifest("load", nil)
	m.Judging = whole.judging(nil)
	err := errors.Join(f.WriteJSON(rundir.ManifestFile, m), f.WriteJSON(rundir.PhasesFile, rundir.Phases{Schema: rundir.PhasesSchema, Phases: phases}),
		os.Link(filepath.Join(requests, rundir.RequestsFile), f.Path(rundir.RequestsFile)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := summary.Compute(string(f), supported.Engines())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r.Summary, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readRankFile(t *testing.T, path, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// expectSame compares a merged run with the one of a single process: plan, hash, records and summary.
func expectSame(t *testing.T, whole *SharedRun, merged, alone string) {
	t.Helper()
	if readRankFile(t, merged, rundir.ScheduleFile) != readRankFile(t, alone, rundir.ScheduleFile) {
		t.Error("another schedule")
	}
	m, err := rundir.Folder(alone).ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	if got := whole.Parts[0].Manifest.Workload.SHA256; got != m.Workload.SHA256 || !whole.StartedAt.Equal(m.StartedAt) {
		t.Errorf("workload %s started at %v, that of one process is %s, %v", got, whole.StartedAt, m.Workload.SHA256, m.StartedAt)
	}
	got, want := recordsOf(t, merged), recordsOf(t, alone)
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("record %d: %s\nof one process: %s", i, jsonLine(t, got[i]), jsonLine(t, want[i]))
		}
	}
	phases, err := rundir.Folder(alone).ReadPhases()
	if err != nil || len(phases) == 0 {
		t.Fatalf("%d phases, %v", len(phases), err)
	}
	if got, want := summaryOf(t, whole, whole.phases(), merged), summaryOf(t, whole, phases[:1], alone); got != want {
		t.Errorf("summary\n%s\nof one process\n%s", got, want)
	}
}

// trace is a Mooncake trace whose requests come at moments of their own.
func trace(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, `{"timestamp": %d, "input_length": %d, "output_length": 5, "hash_ids": [%d]}`+"\n", 13*i+i*i%11, 100+i, i%7)
	}
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// An open load and conversations are the same requests at the same moments, however many processes send
// them: against a server that serves four at a time, so that they wait for each other across the ranks.
func TestRanksMergedAreOneRunExactly(t *testing.T) {
	for name, args := range map[string][]string{
		"constant":           {"--arrival=constant", "--rate=37", "--requests=120"},
		"constant, by time":  {"--arrival=constant", "--rate=37", "--duration=3s"},
		"poisson":            {"--arrival=poisson", "--rate=45", "--requests=150", "--shared-prefix-tokens=20"},
		"gamma":              {"--arrival=gamma", "--burstiness=0.3", "--rate=40", "--duration=3s"},
		"stages":             {"--arrival=poisson", "--stages=1s:10,500ms:0,1s:90"},
		"trace":              {"--arrival=trace", "--trace", trace(t), "--trace-unit=ms", "--trace-block-tokens=512"},
		"talk, closed":       {"--scenario=multi_turn", "--clients=9", "--active-conversations=12", "--max-turns=4", "--requests=100"},
		"talk, at random":    {"--scenario=multi_turn", "--clients=8", "--active-conversations=20", "--max-turns=3", "--requests=90", "--sampling=random"},
		"talk, by the clock": {"--scenario=multi_turn", "--clients=7", "--max-turns=5", "--arrival=poisson", "--rate=20", "--duration=4s"},
	} {
		t.Run(name, func(t *testing.T) {
			four := func() *rankEngine { return &rankEngine{free: make([]time.Time, 4)} }
			_, alone := shared(t, four(), 1, args...)
			for _, world := range []int{2, 3, 4, 7} {
				whole, merged := shared(t, four(), world, args...)
				expectSame(t, whole, merged, alone)
				if t.Failed() {
					t.Fatalf("%d ranks", world)
				}
			}
		})
	}
}

// A slot of a closed loop takes the next request of its own rank. If all answers take the same time and
// every rank has as many slots, that is the request which it would take anyway.
func TestAClosedLoopIsOneRunExactlyIfAnswersTakeTheSameTime(t *testing.T) {
	for _, args := range [][]string{
		{"--concurrency=12", "--requests=120"}, {"--concurrency=12", "--requests=101"}, {"--stages=1s:12,1s:24,1s:12"},
	} {
		_, alone := shared(t, &rankEngine{steady: true}, 1, args...)
		for _, world := range []int{2, 3, 4} {
			whole, merged := shared(t, &rankEngine{steady: true}, world, args...)
			if args[0] == "--stages=1s:12,1s:24,1s:12" {
				// Only the moments are those of one process: which requests come to be sent is a matter of
				// the rank whose slots they are.
				if got, want := moments(recordsOf(t, merged)), moments(recordsOf(t, alone)); !maps.Equal(got, want) {
					t.Errorf("%d ranks: %v\nwant %v", world, got, want)
				}
				continue
			}
			expectSame(t, whole, merged, alone)
		}
	}
}

// moments counts how many requests were sent when.
func moments(records []openai.Record) map[int64]int {
	at := map[int64]int{}
	for _, r := range records {
		at[*r.DispatchNS]++
	}
	return at
}

// Whatever answers take, a closed loop sends the same requests, each once, and has no more in flight.
func TestAClosedLoopOfRanksSendsTheSameRequestsWithAsManyInFlight(t *testing.T) {
	args := []string{"--concurrency=10", "--requests=137", "--output-tokens=1:50"}
	e := &rankEngine{}
	_, alone := shared(t, e, 1, args...)
	want := askedBy(recordsOf(t, alone))
	if e.most != 10 {
		t.Fatalf("%d in flight of one process", e.most)
	}
	for _, world := range []int{2, 3, 4, 7, 10} {
		e := &rankEngine{}
		_, merged := shared(t, e, world, args...)
		if got := askedBy(recordsOf(t, merged)); !slices.Equal(got, want) {
			t.Errorf("%d ranks: %d requests, or others", world, len(got))
		}
		if e.most != 10 {
			t.Errorf("%d ranks: %d in flight", world, e.most)
		}
	}
}

func askedBy(records []openai.Record) []string {
	var all []string
	for _, r := range records {
		all = append(all, fmt.Sprint(r.Index, r.PromptSHA256, r.ParamsSHA256))
	}
	return all
}
