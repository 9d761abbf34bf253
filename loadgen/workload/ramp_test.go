package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

func TestEachPhaseOfAClosedLoopHasTheRamp(t *testing.T) {
	s, err := given(t, "--concurrency=200", "--ramp=10s", "--duration=1m")
	if err != nil {
		t.Fatal(err)
	}
	phases := s.phases(nil)
	if len(phases) != 2 || phases[0].Name != rundir.PhaseWarmup || phases[0].Process.Ramp != 10*time.Second || phases[1].Process.Ramp != 10*time.Second {
		t.Errorf("%+v", phases)
	}
	if s, err = given(t, "--scenario=multi_turn", "--clients=4", "--ramp=10s"); err != nil || s.phases(nil)[1].Process.Ramp != 10*time.Second {
		t.Errorf("multi_turn: %+v, %v", s, err)
	}
}

func TestAClosedLoopOfManySlotsStartsThemOneAfterAnother(t *testing.T) {
	for args, want := range map[string]time.Duration{
		"--concurrency=16":                   0,
		"--concurrency=17":                   170 * time.Millisecond,
		"--concurrency=1000":                 10 * time.Second,
		"--concurrency=1000 --duration=20s":  2 * time.Second, // a tenth of the phase
		"--concurrency=1000 --ramp=0s":       0,
		"--concurrency=1000 --ramp=3s":       3 * time.Second,
		"--scenario=multi_turn --clients=40": 400 * time.Millisecond,
		"--arrival=poisson --rate=2":         0,
		"--stages=30s:100":                   0,
		"--scenario=burst":                   0,
	} {
		s, err := given(t, strings.Fields(args)...)
		if err != nil || s.ramp != want {
			t.Errorf("%s: a ramp of %s, want %s (%v)", args, s.ramp, want, err)
		}
	}
}

func TestARampIsRefusedWhereNoSlotsStartTogether(t *testing.T) {
	for args, want := range map[string]string{
		"--arrival=poisson --rate=2 --ramp=5s":    "--ramp: --arrival poisson starts requests by the clock",
		"--arrival=constant --rate=2 --ramp=5s":   "--ramp: --arrival constant starts requests by the clock",
		"--stages=30s:10 --ramp=5s":               "--ramp: the stages of a closed loop",
		"--scenario=burst --ramp=5s":              "--ramp: the phases of --scenario burst",
		"--scenario=eviction_replay --ramp=5s":    "--ramp: the phases of --scenario eviction_replay",
		"--duration=5s --ramp=5s":                 "--ramp: 5s is not shorter than --duration 5s",
		"--concurrency=4 --ramp=-1s":              "--ramp",
		"--concurrency=4 --ramp=5":                "--ramp",
		"--arrival=poisson --rate=2 --ramp=0s":    "",
		"--concurrency=4 --duration=6s --ramp=5s": "",
	} {
		_, err := given(t, strings.Fields(args)...)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

func TestTheHashOfAWorkloadHasItsRamp(t *testing.T) {
	p := closed(traffic.Limit{Requests: 5})
	without, _ := plan(t, workloadOf(p))
	p.Process.Ramp = time.Second
	if with, _ := plan(t, workloadOf(p)); with == without {
		t.Error("a ramp is another workload")
	}
}
