package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/traffic"
)

func workloadOf(phases ...Phase) *Workload {
	w := &Workload{
		model: "m", vendor: server.VendorOf(supported.Engines(), "vllm"), seed: 1337, Phases: phases,
		Sampling: rundir.Sampling{Endpoint: string(openai.Chat), Stream: true, TopP: 1},
		Output:   traffic.Lengths{Min: 8, Max: 32},
	}
	w.ofLengths(20, 60)
	return w
}

// ofLengths gives the workload prompts of its seed and of the given lengths.
func (w *Workload) ofLengths(least, most int) {
	set := traffic.PromptSet{Seed: w.seed, Lengths: []traffic.Lengths{{Min: least, Max: most}}}
	w.Script = Script{workers: 1, Slots: 4, contents: numbered(set.Prompt), longest: most}
}

func plan(t *testing.T, w *Workload) (sum string, entries []rundir.ScheduleLine) {
	t.Helper()
	var out bytes.Buffer
	sum, err := w.Plan(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := json.NewDecoder(&out); ; {
		var e rundir.ScheduleLine
		if err := decoder.Decode(&e); err == io.EOF {
			return sum, entries
		} else if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
}

func TestThePlanHasEveryRequestBeforeItIsSent(t *testing.T) {
	warmup := open(traffic.Poisson, 5, traffic.Limit{Requests: 3})
	warmup.Name = rundir.PhaseWarmup
	w := workloadOf(warmup, open(traffic.Poisson, 5, traffic.Limit{Requests: 20}))
	_, entries := plan(t, w)
	if len(entries) != 23 {
		t.Fatalf("%d lines planned, want 23", len(entries))
	}
	for _, p := range w.Phases {
		q := w.Prepare(t.Context(), p, io.Discard)
		for j := range q[0].jobs {
			e := entries[0]
			entries = entries[1:]
			if e.Phase != p.Name || e.Index != j.Index || *e.PlannedNS != int64(j.Planned) ||
				e.PromptSHA256 != j.PromptSHA256 || e.ParamsSHA256 != j.ParamsSHA256 || e.InputTokensTarget != j.InputTokensTarget {
				t.Fatalf("planned %+v, prepared %+v", e, j)
			}
		}
		if err := q.Rest(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestABodyHasTheParametersOfThePlan(t *testing.T) {
	w := workloadOf(closed(traffic.Limit{Requests: 1}))
	w.Sampling.IgnoreEOS = true
	_, entries := plan(t, w)
	j := <-w.Prepare(t.Context(), w.Phases[0], io.Discard)[0].jobs
	var body struct {
		Model     string
		MinTokens int  `json:"min_tokens"`
		IgnoreEOS bool `json:"ignore_eos"`
		Stream    bool
		Messages  []openai.Message
	}
	if err := json.Unmarshal(j.Request.Body, &body); err != nil {
		t.Fatal(err)
	}
	if body.Model != "m" || !body.Stream || !body.IgnoreEOS || body.MinTokens != entries[0].MaxTokens {
		t.Errorf("body %s", j.Request.Body)
	}
	if len(body.Messages) != 1 || hexSHA256([]byte(body.Messages[0].Content)) != entries[0].PromptSHA256 {
		t.Errorf("the prompt is not the planned one: %s", j.Request.Body)
	}
}

// A baseline that is sent again in a second run must not come from what the server cached in the first one; the
// two are the same workload all the same.
func TestSaltsDifferFromThoseOfOtherRuns(t *testing.T) {
	sent := func(run string) (salt, hash string) {
		w := workloadOf(closed(traffic.Limit{Requests: 1}))
		w.run = run
		asks := w.Script.contents
		w.Script.contents = func(phase string, first int) iter.Seq[content] {
			return func(yield func(content) bool) {
				for a := range asks(phase, first) {
					if a.salt = PhaseBaseline1; !yield(a) {
						return
					}
				}
			}
		}
		hash, _ = plan(t, w)
		j := <-w.Prepare(t.Context(), w.Phases[0], io.Discard)[0].jobs
		var body struct {
			Salt string `json:"cache_salt"`
		}
		if err := json.Unmarshal(j.Request.Body, &body); err != nil {
			t.Fatal(err)
		}
		return body.Salt, hash
	}
	first, firstHash := sent("one")
	second, secondHash := sent("two")
	if first == "" || first == second || firstHash != secondHash {
		t.Errorf("salts %q and %q, workloads %s and %s", first, second, firstHash, secondHash)
	}
}

func TestWarmupAndMeasuredRequestsShareNoPrompt(t *testing.T) {
	warmup := closed(traffic.Limit{Requests: 8})
	warmup.Name = rundir.PhaseWarmup
	_, entries := plan(t, workloadOf(warmup, closed(traffic.Limit{Requests: 8})))
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.PromptSHA256] {
			t.Errorf("%s %d repeats a prompt", e.Phase, e.Index)
		}
		seen[e.PromptSHA256] = true
	}
}

// The measured requests must not depend on how the warm-up was set: it would make runs with
// another warm-up incomparable.
func TestTheMeasuredPlanDoesNotDependOnTheWarmup(t *testing.T) {
	measured := open(traffic.Poisson, 5, traffic.Limit{Requests: 5})
	_, alone := plan(t, workloadOf(measured))
	warmup := open(traffic.Poisson, 5, traffic.Limit{Requests: 3})
	warmup.Name = rundir.PhaseWarmup
	_, both := plan(t, workloadOf(warmup, measured))
	for i, e := range alone {
		other := both[3+i]
		if e.PromptSHA256 != other.PromptSHA256 || *e.PlannedNS != *other.PlannedNS {
			t.Errorf("request %d differs: %+v, %+v", i, e, other)
		}
	}
}

func TestTheWorkloadHashChangesWithEverythingThatIsSentAndNothingElse(t *testing.T) {
	base := func() *Workload { return workloadOf(closed(traffic.Limit{Requests: 10})) }
	want, _ := plan(t, base())
	if again, _ := plan(t, base()); again != want {
		t.Error("the same workload has two hashes")
	}
	other := base()
	other.model, other.vendor, other.keepOutputs = "another", server.VendorOf(supported.Engines(), "sglang"), true
	if got, _ := plan(t, other); got != want {
		t.Error("model or engine changed the hash: two arms could never be compared")
	}
	seed := int64(1)
	for name, change := range map[string]func(*Workload){
		"seed":         func(w *Workload) { w.seed++; w.ofLengths(20, 60) },
		"temperature":  func(w *Workload) { w.Sampling.Temperature = 1 },
		"endpoint":     func(w *Workload) { w.Sampling.Endpoint = string(openai.Completions) },
		"stream":       func(w *Workload) { w.Sampling.Stream = false },
		"stop":         func(w *Workload) { w.Sampling.Stop = []string{"x"} },
		"request seed": func(w *Workload) { w.Sampling.Seed = &seed },
		"concurrency":  func(w *Workload) { w.Script.Slots++ },
		"input":        func(w *Workload) { w.ofLengths(20, 61) },
		"output":       func(w *Workload) { w.Output.Max = 33 },
		"requests":     func(w *Workload) { w.Phases[0].Limit.Requests++ },
		"duration":     func(w *Workload) { w.Phases[0].Limit.Duration = time.Hour },
		"arrival": func(w *Workload) {
			w.Phases[0].Process = traffic.ArrivalProcess{Arrival: traffic.Constant, RatePerSecond: 1}
		},
		"warmup": func(w *Workload) {
			w.Phases = append([]Phase{{Name: rundir.PhaseWarmup, Process: w.Phases[0].Process, Limit: traffic.Limit{Requests: 1}}}, w.Phases...)
		},
	} {
		w := base()
		change(w)
		if got, _ := plan(t, w); got == want {
			t.Errorf("%s does not change the hash", name)
		}
	}
}

func TestAnEndlessPhaseIsPlannedBeforeEachBlockIsSent(t *testing.T) {
	synctest.Test(t, testAnEndlessPhase)
}

func testAnEndlessPhase(t *testing.T) {
	w := workloadOf(closed(traffic.Limit{Duration: time.Hour}))
	w.ofLengths(1, 1)
	_, entries := plan(t, w)
	if len(entries) != planBlock {
		t.Fatalf("%d lines planned ahead, want %d", len(entries), planBlock)
	}
	written := &lockedBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	q := w.Prepare(ctx, w.Phases[0], written)
	for range planBlock + 1 {
		<-q[0].jobs
	}
	synctest.Wait() // no block is half written once the planner waits for room
	lines := strings.Split(strings.TrimSpace(written.String()), "\n")
	var first rundir.ScheduleLine
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if len(lines)%planBlock != 0 || first.Index != planBlock {
		t.Errorf("%d lines from index %d on", len(lines), first.Index)
	}
	cancel()
	if err := q.Rest(); err != nil {
		t.Error(err)
	}
	// Draining the queue of a finished phase must not keep it going.
	if n := strings.Count(written.String(), "\n"); n > 8*planBlock {
		t.Errorf("%d lines were planned after the end", n)
	}
}

func TestAFullDiskWhilePlanningEndsTheJobsWithAnError(t *testing.T) {
	w := workloadOf(closed(traffic.Limit{Duration: time.Hour}))
	w.ofLengths(1, 1)
	q := w.Prepare(t.Context(), w.Phases[0], failingWriter{})
	jobs := 0
	for range q[0].jobs {
		jobs++
	}
	if err := q.Rest(); err == nil || jobs != planBlock {
		t.Errorf("%d jobs, error %v; want one planned block and an error", jobs, err)
	}
}

func TestPreparedJobsFitIntoMemory(t *testing.T) {
	for longest, want := range map[int]int{1: mostPrepared, 2048: mostPrepared, 32768: 341, traffic.MaxTokens: fewestPrepared} {
		w := workloadOf()
		w.ofLengths(1, longest)
		if got := w.prepared(); got != want {
			t.Errorf("up to %d tokens: %d jobs prepared, want %d", longest, got, want)
		}
	}
}

func TestRequestsOfAPhaseAreCountedAsPlanned(t *testing.T) {
	for _, c := range []struct {
		p    Phase
		want int
	}{
		{closed(traffic.Limit{Requests: 7}), 7},
		{closed(traffic.Limit{Duration: time.Minute}), 0},
		{open(traffic.Constant, 10, traffic.Limit{Duration: time.Second}), 10},
		{open(traffic.Constant, 10, traffic.Limit{Duration: time.Second, Requests: 4}), 4},
	} {
		if got := workloadOf().Requests(c.p); got != c.want {
			t.Errorf("%+v: %d, want %d", c.p, got, c.want)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	w := workloadOf(closed(traffic.Limit{Duration: time.Hour}))
	w.ofLengths(1280, 1280)
	b.ReportAllocs()
	next, stop := iter.Pull(w.slots(w.Phases[0], 0))
	defer stop()
	for b.Loop() {
		slot, _ := next()
		d, err := w.draft(w.Phases[0], slot)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.job(d, nil); err != nil {
			b.Fatal(err)
		}
	}
}
