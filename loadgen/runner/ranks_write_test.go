package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
	"github.com/umascope/umascope/loadgen/traffic"
)

func contextDone(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}

func TestPhasesAreThoseOfAllRanks(t *testing.T) {
	w := openRanks(t, ranks(t, 3, nil))
	want := []rundir.Span{
		{Name: rundir.PhaseReady, StartNS: 0, EndNS: 1000 * ms},
		{Name: rundir.PhaseMeasure, StartNS: 10_000 * ms, EndNS: 11_000*ms + 2},
		{Name: rundir.PhaseStop, StartNS: 11_000*ms + 2, EndNS: 12_000 * ms},
	}
	if got := w.phases(); !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// merged is the manifest of a merged run with what its ranks found.
type merged struct {
	rundir.Judging
	of rundir.Manifest
}

func TestWhatARankFoundIsFoundOfTheWhole(t *testing.T) {
	for name, c := range map[string]struct {
		alter func(*rundir.Manifest)
		check func(merged) bool
	}{
		"nothing": {func(*rundir.Manifest) {}, func(in merged) bool {
			return in.Stopped == "" && in.Client.Watched && in.Model.Checked && in.Model.Compared && in.Model.Guarded && in.KVMode.Checked && !in.TelemetryRequested
		}},
		"a stall": {func(m *rundir.Manifest) { m.Judging.Client.Stalls = []rundir.Stall{{FromNS: 5, ToNS: 9}} }, func(in merged) bool {
			shift := startedAfter(1).Nanoseconds()
			return slices.Equal(in.Client.Stalls, []rundir.Stall{{FromNS: 5 + shift, ToNS: 9 + shift, Rank: 1}})
		}},
		"stamps on one rank only":                   {func(m *rundir.Manifest) { m.Judging.Client.StampedArrivals = true }, func(in merged) bool { return !in.Client.StampedArrivals }},
		"a rank without what prompts are judged by": {func(m *rundir.Manifest) { m.Judging.PrefixReuse = &rundir.PrefixReuse{} }, func(in merged) bool { return in.PrefixReuse == nil }},
		"a busy client":                             {func(m *rundir.Manifest) { m.Judging.Client.CPURatio = .9 }, func(in merged) bool { return in.Client.CPURatio == .9 }},
		"an unwatched client":                       {func(m *rundir.Manifest) { m.Judging.Client.Watched = false }, func(in merged) bool { return !in.Client.Watched }},
		"another model":                             {func(m *rundir.Manifest) { m.Judging.Model.Mismatch = "x" }, func(in merged) bool { return in.Model.Mismatch == "rank 1: x" }},
		"a model that changed":                      {func(m *rundir.Manifest) { m.Judging.Model.Changed = "x" }, func(in merged) bool { return in.Model.Changed == "rank 1: x" }},
		"a model that is gone":                      {func(m *rundir.Manifest) { m.Judging.Model.Dropped = "x" }, func(in merged) bool { return in.Model.Dropped == "rank 1: x" }},
		"a prompt too long":                         {func(m *rundir.Manifest) { m.Judging.Model.PromptLimit = "x" }, func(in merged) bool { return in.Model.PromptLimit == "rank 1: x" }},
		"an unchecked model":                        {func(m *rundir.Manifest) { m.Judging.Model = rundir.ModelFindings{} }, func(in merged) bool { return !in.Model.Checked && !in.Model.Compared && !in.Model.Guarded }},
		"other tiers":                               {func(m *rundir.Manifest) { m.Judging.KVMode.Mismatch = "x" }, func(in merged) bool { return in.KVMode.Mismatch == "rank 1: x" }},
		"tiers unseen":                              {func(m *rundir.Manifest) { m.Judging.KVMode.Checked = false }, func(in merged) bool { return !in.KVMode.Checked }},
		"an interrupt":                              {func(m *rundir.Manifest) { m.Judging.Stopped = "x" }, func(in merged) bool { return in.Stopped == "rank 1: x" }},
		"a kill":                                    {func(m *rundir.Manifest) { m.State = rundir.StateRunning }, func(in merged) bool { return strings.Contains(in.Stopped, "killed") }},
		"a simulation":                              {func(m *rundir.Manifest) { m.Server.Simulated = true }, func(in merged) bool { return in.of.Server.Simulated }},
		"telemetry wanted":                          {func(m *rundir.Manifest) { m.Judging.TelemetryRequested = true }, func(in merged) bool { return in.TelemetryRequested }},
		"another machine":                           {func(m *rundir.Manifest) { m.Client.BootID = "other" }, func(in merged) bool { return in.of.Ranks.Parts[1].Client.BootID == "other" }},
		"a host of its own":                         {func(m *rundir.Manifest) { m.Labels["host"] = "own" }, func(in merged) bool { return in.of.Labels["host"] == "spark" }},
		"a label of its own":                        {func(m *rundir.Manifest) { m.Labels["node"] = "own" }, func(in merged) bool { return in.of.Labels["node"] == "" && in.of.Labels["arm"] == "a" }},
		"another text splitter": {func(m *rundir.Manifest) { m.Server.FingerprintStart = &rundir.Fingerprint{ProbeTokens: []int{9}} }, func(in merged) bool {
			return strings.Contains(in.Model.Mismatch, "rank 1 met another model than rank 0")
		}},
	} {
		w := openRanks(t, ranks(t, 3, func(r int, m *rundir.Manifest) {
			m.Server.FingerprintStart = &rundir.Fingerprint{ProbeTokens: []int{1, 2}}
			if r == 1 {
				c.alter(m)
			}
		}))
		in := merged{*w.judging(nil), w.manifest("whole", nil)}
		if !c.check(in) || in.of.Run != "whole" || !in.Streaming || !in.Complete {
			t.Errorf("%s: %+v", name, in)
		}
	}
}

func TestPromptsOfAllRanksAreJudgedAlike(t *testing.T) {
	whole := func(common ...*int) *rundir.PrefixReuse {
		w := &SharedRun{}
		for i, n := range common {
			own := &rundir.PrefixReuse{CommonTokens: n, Engine: &rundir.PrefixLookups{Tokens: 9}}
			if i > 0 {
				own.Repeats = "--repeat-of"
			}
			w.Parts = append(w.Parts, RankRun{Manifest: rundir.Manifest{Judging: &rundir.Judging{PrefixReuse: own}}})
		}
		return w.judging(nil).PrefixReuse
	}
	// Each rank measured the template by itself. What the engine counted, it counted of all ranks.
	if got := whole(new(37), new(38)); *got.CommonTokens != 38 || got.Repeats != "--repeat-of" || got.Engine != nil {
		t.Errorf("%+v", got)
	}
	if got := whole(new(37), nil, new(38)); got.CommonTokens != nil {
		t.Errorf("%+v, and one rank does not know the template", got)
	}
}

func TestLimitsThatCannotBeReadAreAnError(t *testing.T) {
	for _, alter := range []func(*rundir.Manifest){
		func(m *rundir.Manifest) { m.Judging.SLO = "x" },
		func(m *rundir.Manifest) { m.Judging.Validity = []string{"x"} },
	} {
		paths := ranks(t, 2, func(_ int, m *rundir.Manifest) { alter(m) })
		if _, err := OpenRanks(paths, false); err == nil || !strings.Contains(err.Error(), "r0: --") {
			t.Errorf("accepted, or not named: %v", err)
		}
	}
}

func TestTheManifestNamesItsParts(t *testing.T) {
	w := openRanks(t, ranks(t, 3, func(r int, m *rundir.Manifest) {
		m.Machines = []rundir.Machine{{Source: "spark", URL: fmt.Sprint(r)}}
		m.Pages = []rundir.Page{{Source: fmt.Sprint("page", r)}}
		m.Server.Answered = []string{"m", fmt.Sprint("m", r)}
		if r == 2 {
			m.State = rundir.StateInterrupted
		}
	}))
	m := w.manifest("whole", map[string]int{"spark": 1, "page2": 2})
	if m.Run != "whole" || m.State != rundir.StateInterrupted || m.Rank != nil || !m.StartedAt.Equal(base) || !m.EndedAt.Equal(base.Add(time.Minute+startedAfter(2))) {
		t.Errorf("%+v", m)
	}
	if !reflect.DeepEqual(m.Flags, map[string]string{"rate": "10"}) || !reflect.DeepEqual(m.Ranks.Parts[2].Flags, map[string]string{"rank": "2"}) {
		t.Errorf("flags %v and of rank 2 %v", m.Flags, m.Ranks.Parts[2].Flags)
	}
	if len(m.Machines) != 1 || m.Machines[0].URL != "1" || len(m.Pages) != 1 || !slices.Equal(m.Server.Answered, []string{"m", "m0", "m1", "m2"}) {
		t.Errorf("machines %v, pages %v, answered %v", m.Machines, m.Pages, m.Server.Answered)
	}
	p := m.Ranks.Parts[1]
	if m.Ranks.World != 3 || p.Rank != 1 || p.Run != "load-rank1of3" || p.ShiftNS != startedAfter(1).Nanoseconds() || !slices.Equal(p.Sources, []string{"spark"}) || p.Client.BootID != "boot" {
		t.Errorf("part %+v", p)
	}
	if w.Parts[0].Manifest.Rank == nil {
		t.Error("the rank's own manifest was changed")
	}
}

func TestClockErrorsBoundTheShiftOfRanks(t *testing.T) {
	own := func(r int, m *rundir.Manifest) { m.Client.BootID = fmt.Sprint("boot", r) }
	for name, c := range map[string]struct {
		alter func(r int, m *rundir.Manifest)
		want  *float64
		says  string
	}{
		"one machine":         {nil, new(0.0), ""},
		"one, unreadable":     {func(_ int, m *rundir.Manifest) { m.Client.BootID, m.Rank.Clock = "", nil }, new(0.0), ""},
		"several":             {own, new(0.002), "by up to 2ms"},
		"the two worst":       {func(r int, m *rundir.Manifest) { own(r, m); m.Rank.Clock.MaxErrorSeconds = float64(r+1) / 1000 }, new(0.005), "by up to 5ms"},
		"not synchronised":    {func(r int, m *rundir.Manifest) { own(r, m); m.Rank.Clock.Synchronised = r != 1 }, nil, "rank 1 is not synchronised"},
		"nobody may ask":      {func(r int, m *rundir.Manifest) { own(r, m); m.Rank.Clock = nil }, nil, "ranks 0, 1, 2 are not synchronised"},
		"a clock that is set": {func(r int, m *rundir.Manifest) { m.Client.ClockStepSeconds = -float64(r) * 0.0009 }, new(0.0), "clock of rank 2 moved by -1.8ms"},
	} {
		w := openRanks(t, ranks(t, 3, c.alter))
		got := w.alignedWithin()
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v", name, got)
		}
		if text := strings.Join(w.warnings(telemetry.Merged{}, nil), "\n"); (text == "") != (c.says == "") || !strings.Contains(text, c.says) {
			t.Errorf("%s: warnings %q, want %q", name, text, c.says)
		}
	}
}

func TestWarningsOfRanksAreListedOnce(t *testing.T) {
	w := openRanks(t, ranks(t, 3, func(r int, m *rundir.Manifest) {
		m.Judging.Warnings = []string{"all"}
		if r > 0 {
			m.Judging.Warnings = append(m.Judging.Warnings, "two")
		}
		if r == 2 {
			m.Judging.Warnings = append(m.Judging.Warnings, "one")
			m.Labels["host"], m.Program.Version = "own", "v2"
		}
	}))
	got := w.warnings(telemetry.Merged{From: map[string]int{"spark": 1}, Elsewhere: []string{"spark"}, Torn: []int{2}}, []int{0})
	want := []string{
		`the ranks do not agree on which host was measured; taken is "spark", that of rank 0: give all of them --label host=NAME`,
		"the ranks ran different builds of uma-load",
		"telemetry of spark: the ranks read it at different addresses; taken is that of rank 1",
		"telemetry of rank 2 is torn: the last second may be missing",
		"the last record of rank 0 is torn and left out: it was killed",
		"all", "ranks 1, 2: two", "rank 2: one",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestALongListOfRanksIsCutShort(t *testing.T) {
	var many []int
	for r := range 1000 {
		many = append(many, r)
	}
	if got := numbered(many); !strings.HasSuffix(got, "14, 15, and 984 more are") {
		t.Errorf("%s", got)
	}
}

func TestSequencesInOrderStayInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []int
		var parts []iter.Seq2[int, error]
		for range random.IntN(6) {
			part := make([]int, random.IntN(20))
			for i := range part {
				part[i] = random.IntN(50)
			}
			slices.Sort(part)
			all = append(all, part...)
			parts = append(parts, func(yield func(int, error) bool) {
				for _, n := range part {
					if !yield(n, nil) {
						return
					}
				}
			})
		}
		slices.Sort(all)
		var got []int
		for n, err := range mergeInOrder(func(a, b int) int { return a - b }, parts) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		if !slices.Equal(got, all) {
			t.Fatalf("%v, want %v", got, all)
		}
	}
}

func TestTheFirstErrorEndsASequence(t *testing.T) {
	broken := errors.New("broken")
	ended := 0
	parts := []iter.Seq2[int, error]{
		func(yield func(int, error) bool) {
			defer func() { ended++ }()
			_ = yield(1, nil) && yield(0, broken) && yield(2, nil)
		},
		func(yield func(int, error) bool) {
			defer func() { ended++ }()
			_ = yield(5, nil) && yield(6, nil)
		},
	}
	var got []string
	for n, err := range mergeInOrder(func(a, b int) int { return a - b }, parts) {
		got = append(got, fmt.Sprint(n, err))
	}
	if want := []string{"1 <nil>", "0 broken"}; !slices.Equal(got, want) || ended != 2 {
		t.Errorf("%v; %d sequences ended", got, ended)
	}
}

func TestARankThatIsAloneIsNoMerge(t *testing.T) {
	place := traffic.Place{Rank: 0, World: 1}
	f := rankFiles(t, 0, 2, 10, func(m *rundir.Manifest) { m.Rank.Place = place })
	if _, err := OpenRanks([]string{f.write(t, t.TempDir())}, true); err == nil {
		t.Error("accepted")
	}
}
