package demo

import (
	"context"
	"fmt"
	"time"

	hostsim "github.com/umascope/umascope/exporter/sim"
)

// event is a fault of the machine that makes an alert fire. It leaves the machine as it was, however early ctx ends.
type event struct {
	name string
	// alert is the one that must fire; further alerts may fire too.
	alert string
	play  func(context.Context, *stage) error
}

// events returns the events of the programme, in turn.
func events() []event {
	return []event{
		{"a process of a container is killed at its memory limit", "ContainerOOMKill", killAtLimit},
		{"a process leaves hardly any memory to the machine", "MemoryAvailableLow", useMemoryUp},
		{"the room is at 60 degrees, and everything works", "GPUHot", heatUp},
	}
}

// killAtLimit makes a worker of a container allocate more than the limit of the container. The container stays, and
// with it the count of OOM kills.
func killAtLimit(ctx context.Context, s *stage) error {
	scope := dockerScope("51300002")
	if err := s.host.SetLimits(scope, hostsim.Limits{MaxBytes: 2 * gib}); err != nil {
		return err
	}
	shell, err := s.host.Start(hostsim.Program{Comm: "tini", Cgroup: scope})
	if err != nil {
		return err
	}
	defer shell.Stop()
	shell.Demand(hostsim.Demand{AnonBytes: 8 << 20})
	worker, err := s.host.Start(hostsim.Program{Comm: "python3", Cgroup: scope, Threads: 8})
	if err != nil {
		return err
	}
	defer worker.Stop()
	// An increase needs a sample of the count before the kill, and time to be scraped after it.
	for _, want := range []int64{gib, gib, 3 * gib, gib} {
		worker.Demand(hostsim.Demand{AnonBytes: want, CPUs: 1})
		if err := s.wait(ctx, 15*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// hardlyAny is the available memory at the end, in bytes: less than half of the threshold of the critical alert.
const hardlyAny = 2 * gib

// useMemoryUp makes a process take memory until hardlyAny is left, for as long as the alert requires and a scrape
// needs.
func useMemoryUp(ctx context.Context, s *stage) error {
	hog, err := s.host.Start(hostsim.Program{Comm: "notebook", Cgroup: userScope, Threads: 4})
	if err != nil {
		return err
	}
	defer hog.Stop()
	for range 45 {
		hog.Demand(hostsim.Demand{AnonBytes: max(0, hog.Status().AnonBytes+s.host.AvailableBytes()-hardlyAny), CPUs: 0.5})
		if err := s.wait(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// Durations of events are those of a real machine, as in the rules; see stage.wait.
//
// Heat: the time until the GPU is above 92 degrees Celsius and a minute of that was scraped, and the time until it is
// back at the temperature that runs start with.
const (
	heating = 420 * time.Second
	cooling = 4 * time.Minute
	// unseenYet is the step by which the heat is prolonged until it was scraped.
	unseenYet = 30 * time.Second
)

// The ambient temperatures of the machine.
const (
	hotRoom   = 60
	usualRoom = 25
)

// heatUp puts the machine into a hot room and puts load on all parts of it except the engine: a run that is made
// meanwhile would be invalid, so none is made.
func heatUp(ctx context.Context, s *stage) error {
	// The observer is a Prometheus on the wall clock, which needs no check.
	if err := heat(ctx, s, heating, func() bool { return true }); err != nil {
		return err
	}
	return s.wait(ctx, cooling)
}

// heat is heatUp until the room is back to normal. The machine is hot for at least that long, then until seen reports true,
// for at most twice the usual time: a computer that is busy elsewhere sees an alert late.
func heat(ctx context.Context, s *stage, least time.Duration, seen func() bool) error {
	furnace, err := s.host.Start(hostsim.Program{Comm: "gpu-burn", Cgroup: userScope, Threads: 20})
	if err != nil {
		return err
	}
	furnace.Demand(hostsim.Demand{DeviceBytes: gib, BusyRatio: 1, CPUs: 20})
	err = s.host.SetAmbient(hotRoom)
	if err == nil {
		err = s.wait(ctx, least)
	}
	for lasted := least; err == nil && lasted < 2*heating && !seen(); lasted += unseenYet {
		err = s.wait(ctx, unseenYet)
	}
	furnace.Stop()
	if ambient := s.host.SetAmbient(usualRoom); ambient != nil {
		return fmt.Errorf("the room stays hot: %w", ambient)
	}
	return err
}
