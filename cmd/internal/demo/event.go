package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
	hostsim "github.com/umascope/umascope/exporter/sim"
)

// event is something that goes wrong on the machine so that an alert tells of it. It ends with the machine as it was,
// however early ctx ends.
type event struct {
	name string
	// alert is the one that must fire; others may.
	alert string
	play  func(context.Context, *stage) error
}

// events are those of the programme, in turn.
func events() []event {
	return []event{
		{"a process of a container is killed at its memory limit", "ContainerOOMKill", killAtLimit},
		{"a process leaves hardly any memory to the machine", "MemoryAvailableLow", useMemoryUp},
		{"the room is at 60 degrees, and everything works", "GPUHot", heatUp},
	}
}

// killAtLimit has a worker of a container want more than its limit. The container stays, and with it the count of what
// was killed in it.
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
	// An increase needs the count from before it, and afterwards time to be seen.
	for _, want := range []int64{gib, gib, 3 * gib, gib} {
		worker.Demand(hostsim.Demand{AnonBytes: want, CPUs: 1})
		if err := s.wait(ctx, 15*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// hardlyAny is how much memory is left: less than half of what the critical alert calls low.
const hardlyAny = 2 * gib

// useMemoryUp has a process take memory until hardly any is left, for as long as the alert asks for and to be seen.
func useMemoryUp(ctx context.Context, s *stage) error {
	hog, err := s.host.Start(hostsim.Program{Comm: "notebook", Cgroup: userScope, Threads: 4})
	if err != nil {
		return err
	}
	defer hog.Stop()
	for range 45 {
		available, err := s.availableBytes()
		if err != nil {
			return err
		}
		hog.Demand(hostsim.Demand{AnonBytes: max(0, hog.Status().AnonBytes+available-hardlyAny), CPUs: 0.5})
		if err := s.wait(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// Heat: how long it takes until the GPU is above 92 degrees and has stayed there for a minute that was seen, and until
// it is as warm again as a run finds it.
const (
	heating = 420 * time.Second
	cooling = 3 * time.Minute
	// unseenYet is how much longer it stays hot, again and again, until the heat was seen.
	unseenYet = 30 * time.Second
)

// The rooms of the machine.
const (
	hotRoom   = 60
	usualRoom = 25
)

// heatUp puts the machine into a hot room and has everything in it work, but for the engine: runs that are made
// meanwhile would be invalid, and so there are none.
func heatUp(ctx context.Context, s *stage) error {
	// Who looks here is a Prometheus somewhere, at a clock that goes no faster than its own.
	if err := heat(ctx, s, func() bool { return true }); err != nil {
		return err
	}
	return s.wait(ctx, cooling)
}

// heat is heatUp until the room is as usual again. Where the clock is fast, a computer that is busy elsewhere for half a
// second takes a minute away from whoever looks at the machine: it stays hot until the heat was seen, for at most as
// long again.
func heat(ctx context.Context, s *stage, seen func() bool) error {
	furnace, err := s.host.Start(hostsim.Program{Comm: "gpu-burn", Cgroup: userScope, Threads: 20})
	if err != nil {
		return err
	}
	furnace.Demand(hostsim.Demand{DeviceBytes: gib, BusyRatio: 1, CPUs: 20})
	err = s.host.SetAmbient(hotRoom)
	if err == nil {
		err = s.wait(ctx, heating)
	}
	for longer := time.Duration(0); err == nil && longer < heating && !seen(); longer += unseenYet {
		err = s.wait(ctx, unseenYet)
	}
	furnace.Stop()
	if ambient := s.host.SetAmbient(usualRoom); ambient != nil {
		return fmt.Errorf("the room stays hot: %w", ambient)
	}
	return err
}

// availableBytes is what the machine's kernel calls available.
func (s *stage) availableBytes() (int64, error) {
	memory, err := hostfs.ReadMeminfo(s.seen.Proc)
	if err != nil {
		return 0, err
	}
	return int64(memory["MemAvailable"]), nil
}
