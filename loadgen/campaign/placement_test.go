package campaign

import (
	"context"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/arm"
)

func TestPlacementIsThatOfTheFirstRun(t *testing.T) {
	begin := func(placement string) Event { return Event{Event: eventBegin, Placement: placement} }
	for want, events := range map[string][]Event{
		"second": {begin("first"), begin("second")},
		"first":  {begin("first"), {Event: eventSlot, Slot: 1}, begin("second")},
		"":       {begin(""), {Event: eventSlot, Slot: 1}, begin("second")},
	} {
		if got := replay(events).placement; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestArmsOfACampaignAreAlwaysPlacedAlike stops a campaign after its first run and continues it elsewhere.
func TestArmsOfACampaignAreAlwaysPlacedAlike(t *testing.T) {
	const inCgroups = "a cgroup of each arm, with io, memory"
	for name, c := range map[string]struct {
		first, then string
		refused     bool
		recorded    string // by the runs of the second start
	}{
		"cgroups":                         {first: inCgroups, then: inCgroups, recorded: inCgroups},
		"process groups":                  {first: arm.PlacedInGroups, then: arm.PlacedInGroups, recorded: arm.PlacedInGroups},
		"cgroups, then none":              {first: inCgroups, then: arm.PlacedInGroups, refused: true},
		"cgroups, then with controllers":  {first: "a cgroup of each arm", then: inCgroups, refused: true},
		"process groups, then cgroups":    {first: arm.PlacedInGroups, then: inCgroups, refused: true},
		"of a version that recorded none": {then: arm.PlacedInGroups},
		"of such a version, then cgroups": {then: inCgroups, refused: true},
		"a process that starts no arms":   {first: inCgroups, recorded: inCgroups},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.cgroup = "/system.slice/umascope-campaign-c.service/arm-a"
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				w.during = func(_ context.Context, o Order) {
					if f := o.Engine.Facts(); f.Placement != c.first || f.Cgroup != w.cgroup {
						t.Errorf("%q in %q, want %q", f.Placement, f.Cgroup, c.first)
					}
					stop()
				}
				begun := w.campaign(parsed(t, "iterations: 1\ngates: {cooldown: 1m}\n"))
				begun.Placement = c.first
				w.mustRun(ctx, begun)
				look, err := LookAt(w.dir)
				if err != nil || look.InCgroups() != strings.HasPrefix(c.first, "a cgroup") {
					t.Errorf("in cgroups: %t (%v)", look.InCgroups(), err)
				}
				again := w.campaign(begun.Plan)
				again.Placement = c.then
				i, err := again.Open()
				if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "this start would place them in "+c.then) {
					t.Fatalf("%v", err)
				}
				if err != nil {
					return
				}
				defer i.Close()
				w.during = func(_ context.Context, o Order) {
					if f := o.Engine.Facts(); f.Placement != c.recorded {
						t.Errorf("%q, want %q", f.Placement, c.recorded)
					}
				}
				if o, err := i.Run(t.Context()); err != nil || o.State != Complete {
					t.Errorf("%+v (%v)", o, err)
				}
			})
		})
	}
}
