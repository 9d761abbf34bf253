package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// The machines of what belongs to no campaign. Each has one thing only, so that the demo takes no longer: the trial, the
// same with an engine that returns wrong blocks, and the heat, since a measurement in a hot room is invalid.
const (
	trialsHost = "spark-trials"
	faultyHost = "spark-faulty"
	heatHost   = "spark-heat"
)

// trialsOf returns the single runs of a demo: the second is the first with a fault.
func trialsOf() []*shownTrial {
	return []*shownTrial{
		{name: "rehydrate", host: trialsHost, wanted: exitDone, title: "KV blocks go to the drive and come back"},
		{name: "wrong-kv", host: faultyHost, wanted: exitInvalid, wrong: true, title: "The same, and the blocks that come back are wrong"},
	}
}

// attempts is how often a trial is made: one that is invalid because the computer is busy shows nothing.
const attempts = 2

// try makes a trial. t.fault has the reason why something of it is missing.
func (s *showing) try(ctx context.Context, t *shownTrial, m *machine) {
	if err := s.repeat(ctx, t, m); err != nil && ctx.Err() == nil {
		t.fault = err.Error()
		s.progress.problem(t.host, t.name+": "+t.fault)
	}
}

// repeat repeats the run of a trial until it has the expected result, at most attempts times.
func (s *showing) repeat(ctx context.Context, t *shownTrial, m *machine) error {
	seed := s.options.seed
	var err error
	for number := 1; number <= attempts && ctx.Err() == nil; number++ {
		name := t.name
		if number > 1 {
			name = fmt.Sprintf("%s-%d", t.name, number)
			s.progress.line(t.host, "%-9s  once more: %v", t.name, err)
		}
		if err = m.stage.begin(ctx, nativeArm(), engineOptions{seed: seed, faults: sim.Faults{WrongKV: t.wrong}, kvBytes: trialKV}); err != nil {
			return err
		}
		exit, message := s.load(ctx, t.name, s.trialArguments(m, name), io.Discard)
		r, opened := summary.Open(filepath.Join(s.folder, name))
		if opened != nil {
			return cmp.Or(errors.New(message), opened)
		}
		t.run = &r
		if err = t.judge(r, exit); err == nil {
			s.progress.trial(t, r)
			return nil
		}
	}
	return err
}

// invalidAlert is the alert on an invalid run.
const invalidAlert = "RunInvalid"

// awaitInvalid waits for the alert on an invalid run, which is part of the story, until it is in an evaluation . It gives up after three times the usual wait, a scrape and the minute of the rule: a computer that is busy
// elsewhere sees it late.
func (s *showing) awaitInvalid(ctx context.Context, host string) {
	const most = 3 * (runsInterval + time.Minute/timeFactor)
	for waited := time.Duration(0); waited < most && !s.view.fires(ctx, invalidAlert, host); waited += ruleInterval {
		if pause(ctx, ruleInterval) != nil {
			return
		}
	}
	_ = pause(ctx, ruleInterval) // an interrupt ends the pause
}

// judge returns an error unless a trial has the expected result: valid and with the evidence that it is for, or invalid
// for wrong answers.
func (t *shownTrial) judge(r summary.Run, exit int) error {
	wrong := slices.ContainsFunc(r.Summary.InvalidReasons, func(reason summary.Reason) bool { return reason.Code == summary.CodeOutputMismatch })
	switch {
	case t.wrong && !wrong:
		return errors.New(cmp.Or(reasons(r.Summary), "the wrong answers were not noticed"))
	case exit != t.wanted:
		return fmt.Errorf("exit code %d: %s", exit, cmp.Or(reasons(r.Summary), "it was not made to its end"))
	case !t.wrong && r.Summary.Signals.SSDRehydrate.Grade != evidence.Proven:
		return fmt.Errorf("that blocks came back from the drive is %s", cmp.Or(gradeText(r.Summary.Signals.SSDRehydrate), "not told"))
	}
	return nil
}

// trialArguments returns the command line of a trial, in the form that a user would type.
func (s *showing) trialArguments(m *machine, name string) []string {
	args := []string{
		"run", "--url", m.engineURL(), "--engine", "vllm", "--wait-ready", "30s", "--ready-consecutive", "1",
		"--telemetry", m.name + "=" + m.exporterURL(), "--telemetry-interval", max(s.sampling, caughtUp).String(),
		"--label", "arm=" + nativeArm().name, "--label", "host=" + m.name, "--label", "engine=vllm",
		"--out", s.folder, "--run-id", name, "--seed", strconv.FormatUint(s.options.seed, 10),
		"--grace", "1s", "--web.listen-address", m.loadAt, "--log.level", "warn",
		"--scenario", scenarioEviction,
	}
	return append(args, trialLoad(paceOf(s.options))...)
}

// trialKV is the KV cache that the engine of a trial is given. trialPressure is how many prompts of a thousand tokens,
// with 1.5 GiB of KV cache each, evict others from it and from the tier above the drive.
const (
	trialKV       = 9 * gib
	trialPressure = 12
)

// trialLoad returns the sizes of a trial. There is no warm-up: the first request to the simulated engine is no slower.
func trialLoad(pace showPace) []string {
	args := []string{
		"--warmup", "0", "--output-tokens", strconv.Itoa(pace.trialOutput), "--ignore-eos", "--input-tokens", "1000",
		"--set", "a.requests=" + strconv.Itoa(pace.trialRequests), "--set", "baseline.requests=2",
		"--set", "b.requests=" + strconv.Itoa(trialPressure), "--set", "b.concurrency=8",
		"--set", "disk.filter=off", "--set", "token.bytes=" + strconv.Itoa(bytesPerToken), "--set", "block.bytes=" + strconv.Itoa(blockBytes),
		"--set", "host.bytes=" + strconv.Itoa(hostTier), "--set", "disk.bytes=" + strconv.Itoa(diskTier),
		"--expect", "kv=cpu_disk",
	}
	for _, rule := range laptopValidity() {
		args = append(args, "--validity", rule)
	}
	return args
}

// around is the time, as in the rules, that a machine runs before and after an event, so that uma-view shows both.
const around = time.Minute

// heatUp puts a machine into a hot room until an alert fires, and then lets it cool down.
func (s *showing) heatUp(ctx context.Context, m *machine) {
	// The heat needs memory too, so the engine finds no more in the page cache than it reads itself.
	a := containerArm()
	a.dropsCaches = true
	err := m.stage.begin(ctx, a, engineOptions{seed: s.options.seed})
	if err == nil {
		err = m.stage.wait(ctx, around)
	}
	if err == nil {
		all := events()
		e := all[slices.IndexFunc(all, func(e event) bool { return e.alert == heatAlert })]
		s.heat = &shownHeat{event: e, host: m.name, from: time.Now()}
		s.progress.line(m.name, "%s", e.name)
		seen := func() bool {
			if s.heat.fired.IsZero() && s.view.fires(ctx, heatAlert, m.name) {
				s.heat.fired = time.Now()
			}
			return !s.heat.fired.IsZero()
		}
		if err = heat(ctx, m.stage, 0, seen); err == nil {
			s.heat.until = time.Now()
			err = m.stage.wait(ctx, around)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.problem(fmt.Sprintf("%s: %v", m.name, err))
	}
}

// heatAlert is the alert on a hot GPU.
const heatAlert = "GPUHot"
