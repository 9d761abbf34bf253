package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/umascope/umascope/loadgen/history"
	"github.com/umascope/umascope/loadgen/sim"
)

// trialsHost is the machine that everything is tried on which is no campaign.
const trialsHost = "spark-trials"

// trialsOf are the single runs of a demo: the second is the first with a fault.
func trialsOf() []*shownTrial {
	return []*shownTrial{
		{name: "rehydrate", host: trialsHost, exit: notMade, wanted: exitDone, title: "KV blocks go to the drive and come back"},
		{name: "wrong-kv", host: trialsHost, exit: notMade, wanted: exitInvalid, wrongKV: true, title: "The same, and the blocks that come back are wrong"},
	}
}

// tries makes the trials and the event, one after the other: each would be in the way of the others.
func (s *showing) tries(ctx context.Context, m *machine) {
	for i, t := range s.trials {
		if err := s.try(ctx, t, m, s.options.seed+uint64(i)); err != nil && ctx.Err() == nil {
			t.problem = err.Error()
			s.tell.problem(t.host, t.name+": "+t.problem)
		}
	}
	if ctx.Err() != nil {
		return
	}
	// In no run: what is measured in a hot room is invalid.
	if err := m.stage.begin(ctx, containerArm(), engineOptions{seed: s.options.seed}); err != nil && ctx.Err() == nil {
		s.problem(fmt.Sprintf("%s: the engine does not start again: %v", m.name, err))
	}
	if err := s.heat(ctx, m); err != nil && ctx.Err() == nil {
		s.problem(fmt.Sprintf("%s: the event: %v", m.name, err))
	}
}

// try makes a run on an engine that was started for it.
func (s *showing) try(ctx context.Context, t *shownTrial, m *machine, seed uint64) error {
	if err := m.stage.begin(ctx, containerArm(), engineOptions{seed: seed, faults: sim.Faults{WrongKV: t.wrongKV}}); err != nil {
		return err
	}
	t.command = s.trialArguments(t, m)
	t.folder = filepath.Join(s.folder, t.name)
	code, said := s.load(ctx, t.name, t.command, io.Discard)
	t.exit = code
	r, err := history.Open(t.folder)
	switch {
	case err != nil:
		t.folder = ""
		return cmp.Or(errors.New(said), err)
	case code != t.wanted:
		return fmt.Errorf("uma-load ended with exit code %d and not with %d: %s", code, t.wanted, cmp.Or(reasons(r.Summary), said))
	}
	s.tell.trial(t, r)
	return nil
}

// trialArguments is the command line of a trial, such as a person could give.
func (s *showing) trialArguments(t *shownTrial, m *machine) []string {
	args := []string{
		"run", "--url", m.engineURL(), "--engine", "vllm", "--wait-ready", "30s", "--ready-consecutive", "1",
		"--telemetry", m.name + "=" + m.exporterURL(), "--telemetry-interval", sampling.String(),
		"--label", "arm=" + containerArm().name, "--label", "host=" + m.name, "--label", "engine=vllm",
		"--out", s.folder, "--run-id", t.name, "--seed", strconv.FormatUint(s.options.seed, 10),
		"--grace", "1s", "--web.listen-address", "127.0.0.1:0", "--log-level", "warn",
		"--scenario", scenarioEviction,
	}
	return append(args, paceOf(s.options).load(scenarioEviction)...)
}

// heat puts the machine into a hot room until an alert tells of it, and lets it cool down.
func (s *showing) heat(ctx context.Context, m *machine) error {
	for _, e := range events() {
		if e.alert != heatAlert {
			continue
		}
		shown := shownEvent{name: e.name, alert: e.alert, host: m.name, from: m.stage.host.Now()}
		s.tell.line(m.name, "%s, for %v of its clock", e.name, heating.Round(time.Second))
		err := e.play(ctx, m.stage)
		if err == nil {
			shown.until = m.stage.host.Now()
		}
		s.events = append(s.events, shown)
		return err
	}
	return fmt.Errorf("no event is of the alert %s", heatAlert)
}

// heatAlert is the one that tells of a hot GPU.
const heatAlert = "GPUHot"
