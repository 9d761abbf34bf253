package demo

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// The prompts that are sent, pushed out and sent again.
const (
	setRequests = 3
	setTokens   = 32 * blockTokens
	setBlocks   = setRequests * setTokens / blockTokens
)

// smallRoom is what is free, at least, when an engine sizes its KV cache beside a notebook: the cache must hold one request
// of the longest kind. The larger it is, the longer it takes to push something out.
const smallRoom = 7 * gib

// crowded has somebody at the machine hold most of its memory.
func (s *specimen) crowded(ctx context.Context) error {
	notebook, err := s.host.Start(hostsim.Program{Comm: "notebook", Cgroup: userScope, Threads: 4})
	if err != nil {
		return err
	}
	const engine = 2*weightBytes + overheadBytes + startHeap + hostTier // the weights are in the page cache too
	notebook.Demand(hostsim.Demand{AnonBytes: s.host.CUDAFreeBytes() - engine - smallRoom})
	return s.wait(ctx, time.Minute)
}

// replay is one eviction_replay.
type replay struct {
	name   string
	faults sim.Faults
	load   []string
}

// pushedOut is enough in between to push the prompts out of the device and the host's memory.
var pushedOut = []string{"--fit-pressure", "1.2", "--set", "b.tokens=2000", "--set", "b.concurrency=4"}

// replays are what every machine does. Rounding makes an engine's answers part from each other after some tokens; a wrong
// cache does from the first on, and the analysis calls 8 tokens early. Where in an answer the tokens begin is estimated, so
// drift begins a little later here.
func replays() []replay {
	drift := sim.Drift{Ratio: 0.5, Alone: true, FromToken: 10}
	return []replay{
		{"honest", sim.Faults{}, pushedOut},
		{"wrong", sim.Faults{WrongKV: true}, pushedOut},
		{"drifting", sim.Faults{Drift: drift}, pushedOut},
		{"untouched", sim.Faults{}, []string{"--force", "--set", "b.tokens=64", "--set", "b.requests=1"}},
	}
}

// replayed is what a run says of a replay, and what the machine's kernel counted meanwhile.
type replayed struct {
	summary summary.Summary
	read    float64 // bytes from the drive, by the engine's process
}

func (s *specimen) try(ctx context.Context, one replay) (replayed, error) {
	a := nativeArm()
	a.dropsCaches = true
	args := append([]string{
		"--scenario", scenarioEviction, "--output-tokens", "16", "--input-tokens", strconv.Itoa(setTokens),
		"--set", fmt.Sprint("a.requests=", setRequests), "--set", fmt.Sprint("baseline.requests=", setRequests), "--set", "disk.filter=off",
		"--set", fmt.Sprint("token.bytes=", bytesPerToken), "--set", fmt.Sprint("block.bytes=", blockBytes),
		"--set", fmt.Sprint("host.bytes=", int64(hostTier)), "--set", fmt.Sprint("disk.bytes=", int64(diskTier)),
	}, one.load...)
	run, err := s.measure(ctx, a, engineOptions{faults: one.faults}, nil, args...)
	if err != nil {
		return replayed{}, fmt.Errorf("%s: %w", one.name, err)
	}
	if err := s.wait(ctx, 30*time.Second); err != nil { // until the machine has moved all that the engine has
		return replayed{}, err
	}
	return replayed{run.Summary, float64(s.inference.process.Status().ReadBytes - s.readBefore)}, nil
}

func invalidFor(s summary.Summary, code summary.Code) bool {
	for _, reason := range s.InvalidReasons {
		if reason.Code == code {
			return true
		}
	}
	return false
}

// witnessed is what a signal rests on; NaN is nothing of that name.
func witnessed(s evidence.Signal, name string) float64 {
	for _, w := range s.Figures {
		if w.Name == name {
			return w.Value
		}
	}
	return math.NaN()
}

// share is how far the bytes that a machine moves may be off what its engine says: they follow by a report or two, and
// some may come after the end of what the run looks at.
const share = 0.1

func tiers(t *testing.T, seeds []uint64) {
	var mutex sync.Mutex
	made := map[string][]replayed{}
	eachSeed(t, seeds, func(ctx context.Context, s *specimen) error {
		if err := s.crowded(ctx); err != nil {
			return err
		}
		for _, one := range replays() {
			out, err := s.try(ctx, one)
			if err != nil {
				return err
			}
			mutex.Lock()
			made[one.name] = append(made[one.name], out)
			mutex.Unlock()
		}
		return nil
	})
	check := func(what, name string, so func(replayed) bool) (string, int, int) {
		n := 0
		for _, o := range made[name] {
			if so(o) {
				n++
			}
		}
		return name + ": " + what, n, len(made[name])
	}
	for _, name := range []string{"honest", "wrong", "drifting"} {
		what, n, of := check("blocks came back from the drive, proven", name, func(o replayed) bool { return o.summary.Signals.SSDRehydrate.Grade == evidence.Proven })
		always(t, what, n, of)
		what, n, of = check("as many as the prompts have", name, func(o replayed) bool {
			return witnessed(o.summary.Signals.SSDRehydrate, "kvbm_blocks_from_disk") == setBlocks
		})
		always(t, what, n, of)
		// Over the whole run, each request of the two passes of the baseline brings back the block that all prompts begin with.
		what, n, of = check("as many bytes as the kernel counts for the engine", name, func(o replayed) bool {
			const bytes = float64(setBlocks * blockBytes)
			const all = bytes + 2*setRequests*blockBytes
			signal := o.summary.Signals.SSDRehydrate
			return within(witnessed(signal, "process_read"), bytes, share*bytes) && within(o.read, all, share*bytes) && witnessed(signal, "device_read") >= (1-share)*bytes
		})
		often(t, what, n, of, 0.95)
	}
	what, n, of := check("wrong answers are caught", "wrong", func(o replayed) bool {
		return o.summary.Signals.OutputMatch.Grade == evidence.Contradicted && !o.summary.Valid && invalidFor(o.summary, summary.CodeOutputMismatch)
	})
	always(t, what, n, of)
	what, n, of = check("answers are the same, proven", "honest", func(o replayed) bool {
		return o.summary.Signals.OutputMatch.Grade == evidence.Proven && o.summary.Valid
	})
	always(t, what, n, of)
	// More diverging answers than the engine's own drift makes are called wrong at 1 of 100.
	what, n, of = check("an engine that differs from itself is accused", "drifting", func(o replayed) bool { return o.summary.Signals.OutputMatch.Grade == evidence.Contradicted })
	seldom(t, what, n, of, 0.01)
	what, n, of = check("something is said to have come from the drive", "untouched", func(o replayed) bool {
		return o.summary.Signals.SSDRehydrate.Grade == evidence.Proven || o.summary.Signals.SSDRehydrate.Grade == evidence.Consistent
	})
	never(t, what, n, of)
	what, n, of = check("the kernel counts nothing", "untouched", func(o replayed) bool { return o.read == 0 })
	always(t, what, n, of)
}
