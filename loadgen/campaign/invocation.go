package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
)

// Open takes the campaign's folder and finds the slot to continue with. Its errors are errors of the input.
func (c *Campaign) Open() (*Invocation, error) {
	slots, err := c.Plan.Select(c.Only)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("the folder of the campaign: %w", err)
	}
	r := &Invocation{c: c, slots: slots, started: time.Now(), collected: map[cell][]collected{}, summaries: map[string]*summary.Summary{}, secrets: openai.NewRedactor(c.Plan.Secrets())}
	if r.lock, err = lock(c.Dir); err != nil {
		return nil, err
	}
	if err := r.open(); err != nil {
		r.Close()
		return nil, err
	}
	r.selectAdded()
	return r, nil
}

// Close releases the folder.
func (r *Invocation) Close() {
	if r.journal != nil {
		_ = r.journal.file.Close() // every line is durable already
	}
	_ = r.lock.Close()
}

// open reads the journal, checks the plan against it, and sets incomplete runs aside.
func (r *Invocation) open() error {
	var events []Event
	var err error
	if r.journal, events, err = openJournal(r.c.Dir); err != nil {
		return err
	}
	r.known = replay(events)
	if r.key, err = server.OpenProvenanceKey(cmp.Or(r.c.KeyDir, r.c.Dir)); err != nil {
		return fmt.Errorf("the key of the hashes of what runs: %w", err)
	}
	if err := errors.Join(r.holdPlan(), r.holdPlacement()); err != nil {
		return err
	}
	if err := r.setAside(); err != nil {
		return err
	}
	r.known.renew(r.c.Retry)
	_ = os.Remove(filepath.Join(r.c.Dir, stopFile)) // from an invocation that has ended
	return rundir.Folder(r.c.Dir).Write(PlanFile, func(w io.Writer) error {
		_, err := w.Write(plan.Hide(r.c.Text, r.c.Plan.Secrets()))
		return err
	})
}

// holdPlan refuses a plan that differs from the one that the campaign began with.
func (r *Invocation) holdPlan() error {
	if !r.known.began || r.known.plan == r.c.SHA256 {
		return nil
	}
	if !r.c.Changed {
		return fmt.Errorf("%s: the campaign began with another plan: sha256 %.12s there, %.12s now; %s has the old one. Give another --out, or --plan-changed to go on with the new one",
			r.c.Dir, r.known.plan, r.c.SHA256, filepath.Join(r.c.Dir, PlanFile))
	}
	if err := errors.Join(r.holdDecides(), r.holdAdded()); err != nil {
		return err
	}
	schedule := r.schedule()
	for _, number := range slices.Sorted(maps.Keys(r.known.slots)) {
		s := r.known.slots[number]
		if number > len(schedule) || !sameSlot(schedule[number-1], s.slot) {
			return fmt.Errorf("%s: --plan-changed: slot %d was of %s, %s, %s and is another's in the new plan: its run would stand in the wrong place. Give another --out",
				r.c.Dir, number, s.slot.Model, s.slot.Arm, s.slot.Scenario)
		}
	}
	return r.holdSlots()
}

// holdPlacement refuses to place the processes of arms otherwise than the campaign's first run: what is charged to a
// cgroup of an arm is not comparable with what is charged to one that others share.
func (r *Invocation) holdPlacement() error {
	began, now := cmp.Or(r.known.placement, arm.PlacedInGroups), r.c.Placement
	if len(r.known.slots) == 0 || now == "" || now == began {
		return nil
	}
	return fmt.Errorf("%s: the campaign began with the processes of its arms in %s, and this start would place them in %s. Start it as before (campaign install, or systemd-run), or give another --out",
		r.c.Dir, began, now)
}

func sameSlot(a, b plan.Slot) bool {
	return a.Model == b.Model && a.Arm == b.Arm && a.Scenario == b.Scenario && a.Iteration == b.Iteration
}

// setAside marks runs that were cut off. Their folders are kept, but are not runs any more: otherwise a comparison
// would find two runs in one slot.
func (r *Invocation) setAside() error {
	for _, s := range r.known.slots {
		if s.open {
			if err := SetAside(r.c.Dir, s.run); err != nil {
				return err
			}
		}
	}
	return nil
}

// SetAside marks a run that was cut off: its folder is kept and is no run any more. It leaves a marked run as it is.
func SetAside(dir, run string) error {
	half := rundir.Folder(filepath.Join(dir, run))
	for _, step := range [][2]string{
		{half.Path(rundir.ManifestFile), half.Path("manifest" + AbortedSuffix + ".json")}, {string(half), string(half) + AbortedSuffix},
	} {
		if err := os.Rename(step[0], step[1]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
