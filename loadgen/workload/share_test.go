package workload

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/traffic"
)

// placed is the workload of a rank.
func placed(t *testing.T, place traffic.Place, args ...string) (*Workload, error) {
	t.Helper()
	s := &Settings{Place: place}
	app := kingpin.New("test", "")
	Flags(app, s)
	if !slices.Contains(args, "--prompts") {
		args = append([]string{"--input-tokens=4:9"}, args...)
	}
	if _, err := app.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := s.Resolve(openai.Chat); err != nil {
		return nil, err
	}
	return s.Write(Server{Model: "m", Vendor: server.VendorOf(supported.Engines(), "vllm")})
}

func mustPlace(t *testing.T, place traffic.Place, args ...string) *Workload {
	t.Helper()
	w, err := placed(t, place, args...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func planOf(t *testing.T, w *Workload) (sum string, lines []string) {
	t.Helper()
	var text bytes.Buffer
	sum, err := w.Plan(t.Context(), &text)
	if err != nil {
		t.Fatal(err)
	}
	return sum, slices.Collect(strings.Lines(text.String()))
}

func TestRanksPlanOneLoadAndEachRequestOnce(t *testing.T) {
	for _, args := range [][]string{
		{"--concurrency=8", "--requests=50"},
		{"--concurrency=8", "--duration=1m"},
		{"--arrival=poisson", "--rate=20", "--duration=5s"},
		{"--scenario=multi_turn", "--clients=8", "--requests=60"},
		{"--scenario=multi_turn", "--clients=8", "--duration=1m"},
		{"--stages=1s:8,2s:5", "--warmup=2s"},
	} {
		sum, all := planOf(t, mustPlace(t, traffic.Place{World: 1}, args...))
		for _, world := range []int{2, 3, 8} {
			taken := map[string]int{}
			for r := range world {
				w := mustPlace(t, traffic.Place{Rank: r, World: world}, args...)
				own, lines := planOf(t, w)
				if own != sum {
					t.Errorf("%v: rank %d of %d has workload %s, one process %s", args, r, world, own, sum)
				}
				for _, line := range lines {
					taken[line]++
				}
				prepared(t, w, lines)
			}
			for _, line := range all {
				if taken[line] != 1 {
					t.Fatalf("%v: %d of %d ranks send %s", args, taken[line], world, line)
				}
			}
			if len(taken) != len(all) {
				t.Errorf("%v: %d ranks send %d requests, one process %d", args, world, len(taken), len(all))
			}
		}
	}
}

// prepared compares the first jobs of each phase with its lines.
func prepared(t *testing.T, w *Workload, lines []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, p := range w.Phases {
		q := w.Prepare(ctx, p, io.Discard)
		for _, jobs := range q.Jobs() {
			for range 5 {
				j, more := <-jobs
				if !more {
					break
				}
				key := fmt.Sprintf(`{"phase":%q,"index":%d,`, p.Name, j.Index)
				if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, key) && strings.Contains(line, j.PromptSHA256) }) {
					t.Fatalf("%+v is prepared for request %d of %s, which another rank sends", w.place, j.Index, p.Name)
				}
			}
		}
	}
}

func TestAnEndlessLoopOfARankGoesOnWithItsOwnRequests(t *testing.T) {
	w := mustPlace(t, traffic.Place{Rank: 1, World: 3}, "--concurrency=3", "--duration=1h", "--warmup=0")
	written := &lockedBuffer{}
	q := w.Prepare(t.Context(), w.Phases[0], written)
	for i := range planBlock {
		if j := <-q.Jobs()[0]; j.Index != 3*i+1 {
			t.Fatalf("job %d is request %d", i, j.Index)
		}
	}
	next := 0
	for line := range strings.Lines(written.String()) {
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
		}
		var index int
		if _, err := fmt.Sscanf(line, `{"phase":"measure","index":%d,`, &index); err != nil || index%3 != 1 || index < planBlock {
			t.Fatalf("line %q", line)
		}
		next++
	}
	if next < planBlock/2 {
		t.Errorf("%d lines of further blocks", next)
	}
}

func TestSlotsAreSharedOut(t *testing.T) {
	for _, c := range []struct {
		args []string
		want [][]int // slots or levels of the measured phase, by rank
	}{
		{[]string{"--concurrency=8"}, [][]int{{3}, {3}, {2}}},
		{[]string{"--arrival=constant", "--rate=5", "--concurrency=4"}, [][]int{{2}, {1}, {1}}},
		{[]string{"--arrival=constant", "--rate=5"}, [][]int{{0}, {0}, {0}}},
		{[]string{"--stages=1s:4,1s:0,1s:2"}, [][]int{{2, 0, 1}, {1, 0, 1}, {1, 0, 0}}},
		{[]string{"--scenario=multi_turn", "--clients=4"}, [][]int{{0}, {0}, {0}}}, // each client has its own
	} {
		for r, want := range c.want {
			w := mustPlace(t, traffic.Place{Rank: r, World: 3}, c.args...)
			p := w.Phases[len(w.Phases)-1]
			shared := w.Share(p)
			got := []int{shared.Slots}
			if !shared.Process.Open() && len(shared.Process.Stages) > 0 {
				got = nil
				for _, s := range shared.Process.Stages {
					got = append(got, int(s.Level))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v: rank %d has %v, want %v", c.args, r, got, want)
			}
			if len(p.Process.Stages) > 0 && p.Process.Stages[0].Level != 4 {
				t.Error("the plan of all was changed")
			}
		}
	}
	// A warm-up of one slot has one on every rank: it is in no figure.
	w := mustPlace(t, traffic.Place{Rank: 2, World: 3}, "--stages=1s:1,1s:9")
	if p := w.Share(w.Phases[0]); p.Name != rundir.PhaseWarmup || p.Slots != 1 {
		t.Errorf("warm-up %+v", p)
	}
	alone := mustPlace(t, traffic.Place{}, "--concurrency=8")
	if p := alone.Share(alone.Phases[1]); p.Slots != 0 || alone.Script.Slots != 8 {
		t.Errorf("one process has %d slots", p.Slots)
	}
}

func TestTheRequestsOfRanksAddUp(t *testing.T) {
	for _, args := range [][]string{
		{"--concurrency=8", "--requests=50"}, {"--arrival=poisson", "--rate=20", "--duration=5s"},
		{"--scenario=multi_turn", "--clients=8", "--requests=60"}, {"--scenario=multi_turn", "--clients=4", "--prompts", promptFile(t, threeTalks)},
	} {
		of := func(place traffic.Place) int {
			w := mustPlace(t, place, args...)
			return w.Requests(w.Phases[len(w.Phases)-1])
		}
		sum := 0
		for r := range 3 {
			sum += of(traffic.Place{Rank: r, World: 3})
		}
		if want := of(traffic.Place{}); sum != want || want == 0 {
			t.Errorf("%v: %d in all, %d of one process", args, sum, want)
		}
	}
	w := mustPlace(t, traffic.Place{World: 2}, "--concurrency=8", "--duration=1m")
	if n := w.Requests(w.Phases[1]); n != 0 {
		t.Errorf("an endless phase has %d requests", n)
	}
}

func TestALoadThatCannotBeSharedOutIsRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--concurrency=3"}, "--concurrency: 3 cannot be shared out over 4 ranks"},
		{[]string{"--arrival=constant", "--rate=9", "--concurrency=3"}, "--concurrency: 3"},
		{[]string{"--concurrency=4", "--requests=3"}, "--requests: 3"},
		{[]string{"--stages=1s:3"}, "--stages: 3"},
		{[]string{"--scenario=multi_turn", "--clients=3"}, "--clients: 3"},
		{[]string{"--scenario=eviction_replay"}, "--world: the phases of --scenario eviction_replay"},
		{[]string{"--scenario=reuse_verify"}, "--world"},
		{[]string{"--scenario=rehydrate_replay"}, "--world"},
		{[]string{"--scenario=burst"}, "--world: the phases of --scenario burst"},
		{[]string{"--arrival=poisson", "--rate=9"}, ""},
		{[]string{"--arrival=poisson", "--stages=1s:1"}, ""},
		{[]string{"--stages=1s:4,1s:1"}, ""},
	} {
		_, err := placed(t, traffic.Place{Rank: 3, World: 4}, c.args...)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.args, err, c.says)
		}
	}
}

// mpirun -n 8 uma-load run, without a word on the load: every rank has a slot and a request of its own.
func TestDefaultsAreEnoughForEveryRank(t *testing.T) {
	for _, c := range []struct {
		world int
		args  []string
		notes []string // notes about raised flags
	}{
		{1, nil, nil},
		{8, nil, []string{"--concurrency was raised from the default 1 to 8, the number of ranks"}},
		{8, []string{"--duration=1m"}, []string{"--concurrency was raised from the default 1 to 8, the number of ranks"}},
		{8, []string{"--arrival=poisson", "--rate=9"}, nil},
		{8, []string{"--stages=1s:8"}, nil},
		{8, []string{"--concurrency=8", "--requests=16"}, nil},
		{8, []string{"--scenario=multi_turn"}, []string{"--clients was raised from the default 1 to 8, the number of ranks"}},
		{100, nil, []string{"--concurrency was raised from the default 1 to 100, the number of ranks", "--requests was raised from the default 64 to 100, the number of ranks"}},
	} {
		slots := 0
		for r := range c.world {
			w, err := placed(t, traffic.Place{Rank: r, World: c.world}, c.args...)
			if err != nil {
				t.Errorf("%d ranks, %v: %v", c.world, c.args, err)
				break
			}
			measure := w.Phases[len(w.Phases)-1]
			slots += w.Share(measure).Slots
			if count := w.own(measure); count == 0 && !measure.Endless() {
				t.Errorf("%v: rank %d of %d has nothing to send", c.args, r, c.world)
			}
			raised := slices.DeleteFunc(slices.Clone(w.Script.Notes), func(note string) bool { return !strings.Contains(note, "was raised from") })
			if !slices.Equal(raised, c.notes) {
				t.Errorf("%v: rank %d of %d notes %q, want %q", c.args, r, c.world, raised, c.notes)
			}
		}
		if len(c.args) == 0 && c.world > 1 && slots != c.world {
			t.Errorf("%d ranks have %d slots", c.world, slots)
		}
	}
	if _, err := placed(t, traffic.Place{World: 8}, "--concurrency=4"); err == nil || !strings.Contains(err.Error(), "--concurrency: 4 cannot be shared out over 8 ranks") {
		t.Errorf("a number that was asked for is not raised: %v", err)
	}
}
