//go:build proof

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// seriesVerbs are a sweep over a list, a search and an arena, each of three runs or more with a pause.
func seriesVerbs() map[string][]string {
	common := []string{"--validity=client_lag=off", "--validity=client_stall=off", "--validity=stream_buffered=off", "--validity=depth_evicted=off"}
	return map[string][]string{
		"sweep":  slices.Concat([]string{"sweep", "--over=concurrency=1,2,4", "--pause=700ms", "--requests=100", "--warmup=0", "--output-tokens=4", "--engine=vllm"}, common),
		"search": slices.Concat([]string{"sweep", "--over=concurrency=1..4", "--search=slo", "--slo=e2e=60s", "--pause=700ms", "--requests=100", "--warmup=0", "--output-tokens=4", "--engine=vllm"}, common),
		"arena":  slices.Concat([]string{"arena", "--depth=0,64", "--concurrency=1,2", "--pp=128", "--tg=8", "--runs=40", "--cool=700ms", "--warmup=none"}, common),
	}
}

// seriesMoments interrupt a sweep or an arena, and return how it ended.
func seriesMoments() []struct {
	name, exit string
	happen     func(d *drill) string
} {
	resting := func(d *drill) invocation {
		s := d.start()
		d.run = d.await("the second slot begins", func(e campaign.Event) bool { return e.Event == "slot" && e.Slot == 2 }).Run
		return s
	}
	signalled := func(when func(*drill) invocation, signals ...os.Signal) func(*drill) string {
		return func(d *drill) string {
			s := when(d)
			for _, one := range signals {
				s.signal(one)
			}
			return s.end()
		}
	}
	measuring := func(d *drill) invocation {
		s := resting(d)
		d.until("it records requests", func() bool { return len(d.requests(d.run)) > 0 })
		return s
	}
	return []struct {
		name, exit string
		happen     func(d *drill) string
	}{
		{"SIGINT before the first run", "1", func(d *drill) string {
			d.write(d.stall(), "") // the server answers nothing
			s := d.start()
			d.await("the first slot begins", func(e campaign.Event) bool { return e.Event == "gates" && e.Slot == 1 })
			s.signal(os.Interrupt)
			exit := s.end()
			d.remove(d.stall())
			return exit
		}},
		{"SIGINT in a run", "1", signalled(measuring, os.Interrupt)},
		{"SIGINT twice in a run", "1", func(d *drill) string {
			s := measuring(d)
			d.write(d.stall(), "") // requests in flight stay there
			s.signal(os.Interrupt)
			d.until("the first one is heard", func() bool { return strings.Contains(s.output(), "interrupt again") })
			s.signal(os.Interrupt)
			exit := s.end()
			d.remove(d.stall())
			return exit
		}},
		{"SIGKILL in a run", "SIGKILL", signalled(measuring, os.Kill)},
		{"SIGINT in the cooling", "1", signalled(resting, os.Interrupt)},
		{"SIGKILL in the cooling", "SIGKILL", signalled(resting, os.Kill)},
		{"stop between two runs", "1", func(d *drill) string {
			s := d.start()
			d.await("the first run measures", func(e campaign.Event) bool { return e.Event == "gates" && e.Slot == 1 })
			if output, err := d.command("campaign", "stop", d.folder(), "--after-run").CombinedOutput(); err != nil {
				d.t.Errorf("%v: %s", err, output)
			}
			return s.end()
		}},
		{"two resumes at once", "2", func(d *drill) string {
			s := measuring(d)
			s.signal(os.Interrupt)
			s.end()
			one, other := d.start("--resume=real"), d.start("--resume=real")
			exits := []string{one.end(), other.end()}
			if slices.Sort(exits); !slices.Equal(exits, []string{"0", "2"}) {
				d.t.Errorf("exits %v:\n%s\n%s", exits, one.output(), other.output())
			}
			return exits[1]
		}},
	}
}

// serve starts a simulated engine that stays up for the drill.
func (d *drill) serve() {
	d.t.Helper()
	engine := exec.Command(os.Args[0])
	engine.Env = append(os.Environ(), engineAt+"=127.0.0.1:"+d.port, engineStall+"="+d.stall())
	if err := engine.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = engine.Process.Kill()
		_ = engine.Wait()
	})
	d.until("the engine answers", d.answers)
}

// made describes the slots of a series with their runs: what was asked for and how many requests ended ok. Every slot has
// one run, and no other folder is one.
func (d *drill) made() (all []string) {
	d.t.Helper()
	facts, err := campaign.ReadFacts(d.folder())
	if err != nil {
		d.t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(d.folder(), "*", rundir.ManifestFile))
	if err != nil || len(paths) != len(facts.Slots) {
		d.t.Errorf("%d folders of runs for %d slots (%v)", len(paths), len(facts.Slots), err)
	}
	for _, s := range facts.Slots {
		run, err := summary.Open(filepath.Join(d.folder(), s.Last()))
		if err != nil {
			d.t.Fatal(err)
		}
		m := run.Manifest
		if m.State != rundir.StateComplete || m.Campaign.Slot != s.Number || m.Campaign.Scenario != s.Scenario {
			d.t.Errorf("%s is %s, of slot %d, %s", s.Last(), m.State, m.Campaign.Slot, m.Campaign.Scenario)
		}
		all = append(all, fmt.Sprintf("%d %s %s concurrency=%s seed=%s %d ok", s.Number, s.Scenario, s.Status, m.Flags["concurrency"], m.Flags["seed"], run.Summary.Requests[openai.StatusOK]))
	}
	return all
}

// newSeriesDrill is a drill of a verb with a server of its own.
func newSeriesDrill(t *testing.T, verb []string) *drill {
	d := &drill{experiment: experiment{t, t.TempDir(), freePort(t)}}
	d.verb = slices.Concat(verb, []string{"--out=runs", "--run-id=real", "--url=http://127.0.0.1:" + d.port})
	d.serve()
	return d
}

// TestEveryInterruptionOfASweepAndAnArenaIsGoneOnFrom prints a table: the verb, the interruption, the exit code or the signal
// that ended it, and how long it took to go on. After each, --resume makes the same runs as without an interruption.
func TestEveryInterruptionOfASweepAndAnArenaIsGoneOnFrom(t *testing.T) {
	table := []string{fmt.Sprintf("%-7s %-29s %-8s %-6s %s", "VERB", "INTERRUPTION", "EXIT", "RUNS", "ABORTED")}
	for name, verb := range seriesVerbs() {
		reference := newSeriesDrill(t, verb)
		if s := reference.start(); s.end() != "0" {
			t.Fatal(s.output())
		}
		want := reference.made()
		for _, moment := range seriesMoments() {
			t.Run(name+", "+moment.name, func(t *testing.T) {
				d := newSeriesDrill(t, verb)
				exit := moment.happen(d)
				if exit != moment.exit {
					t.Errorf("exit %s, want %s", exit, moment.exit)
				}
				if status, err := d.command("campaign", "status", d.folder()).CombinedOutput(); err != nil || !strings.HasPrefix(string(status), strings.ReplaceAll(name, "search", "sweep")+" real: ") {
					t.Errorf("status: %v: %s", err, status)
				}
				if exit != "2" {
					if s := d.start("--resume=real"); s.end() != "0" {
						t.Fatal(s.output())
					}
				}
				got := d.made()
				if !slices.Equal(got, want) {
					t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				aborted, _ := filepath.Glob(filepath.Join(d.folder(), "*"+campaign.AbortedSuffix)) // the pattern is a constant and valid
				table = append(table, fmt.Sprintf("%-7s %-29s %-8s %-6d %d", name, moment.name, exit, len(got), len(aborted)))
			})
		}
	}
	fmt.Println(strings.Join(table, "\n"))
}
