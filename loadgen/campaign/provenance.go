package campaign

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
)

// symbolicFolder replaces the folder of an arm in hashed text: the folder differs between arms that run the same.
const symbolicFolder = "$folder"

// identify identifies what a plan runs in a slot.
func identify(k server.ProvenanceKey, p *plan.Plan, slot plan.Slot) (rundir.Provenance, error) {
	ran := rundir.Provenance{Key: k.ID()}
	c, err := p.Render(slot.Model, slot.Arm, map[string]string{plan.ValueFolder: symbolicFolder})
	if err != nil {
		return ran, err
	}
	for _, one := range c.Arm.Processes {
		ran.Processes = append(ran.Processes, identifyProcess(k, one))
	}
	scenario, _ := c.Scenario(slot.Scenario)
	flags := maps.Clone(c.Flags)
	maps.Copy(flags, scenario.Run)
	if record := scenario.Record; record != nil {
		ran.Processes = append(ran.Processes, k.Process(supported.Engines(), "command", rundir.ReadFromPlan, record.Argv, nil))
		maps.Copy(flags, record.Flags)
		flags["extract"] = record.Extract
	}
	for _, file := range c.Arm.Files {
		ran.Files = append(ran.Files, k.Setting(filepath.Base(file.Path), file.Text))
	}
	delete(flags, "label") // it names a run and does not change what runs
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		ran.Plan = append(ran.Plan, k.Setting("flag --"+name, flags[name]))
	}
	type part struct {
		name string
		of   any
	}
	parts := []part{{"checks", c.Checks}, {"collect", c.Collect}, {"gates", c.Gates}, {"keep_up", p.KeepUp}, {"page_cache", c.PageCache}}
	if p.Clocks != nil {
		parts = append(parts, part{"clocks", p.Clocks})
	}
	for _, part := range parts {
		hashed, err := k.Part(part.name, part.of)
		if err != nil {
			return ran, err
		}
		ran.Plan = append(ran.Plan, hashed)
	}
	return ran, nil
}

// identifyProcess adds to a command line where it runs.
func identifyProcess(k server.ProvenanceKey, p plan.Process) rundir.RanProcess {
	ran := k.Process(supported.Engines(), p.Name, rundir.ReadFromPlan, p.Argv, p.Env)
	for _, of := range []struct{ name, value string }{
		{"cwd", p.Cwd}, {"container", p.Container}, {"host", p.Host}, {"root", map[bool]string{true: "sudo"}[p.Root]},
	} {
		if of.value != "" {
			ran.Options = append(ran.Options, k.Setting(of.name, of.value))
		}
	}
	return ran
}

// observe adds the facts that are available once the engine is up: images, and the variables that its processes
// inherited.
func (a *attempt) observe(engine Engine) {
	for i, one := range a.ran.Processes {
		spec := slices.IndexFunc(a.cell.Arm.Processes, func(p plan.Process) bool { return p.Name == one.Name })
		if spec < 0 {
			continue // the command of a recorded run
		}
		p := a.cell.Arm.Processes[spec]
		a.ran.Processes[i].Image = a.r.key.Image(engine.Images[one.Name])
		if p.Container == "" && p.Host == "" {
			a.ran.Processes[i].Inherited = a.r.key.Inherited(supported.Engines(), p.Argv, withoutSet(os.Environ(), p.Env))
		}
	}
}

// withoutSet returns an environment without the variables that a plan sets.
func withoutSet(environ []string, set map[string]string) []string {
	return slices.DeleteFunc(environ, func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		_, is := set[name]
		return is
	})
}

// provenance returns a copy, since the attempt goes on.
func (a *attempt) provenance() *rundir.Provenance {
	ran := a.ran
	ran.Processes = slices.Clone(ran.Processes)
	return &ran
}

// holdSlots refuses a plan by which a slot that has a measured run would now run something else.
func (r *Invocation) holdSlots() error {
	schedule := r.schedule()
	var unknown, under []string
	for _, number := range slices.Sorted(maps.Keys(r.known.slots)) {
		for _, run := range r.known.slots[number].measured {
			before, err := rundir.Folder(filepath.Join(r.c.Dir, run)).ReadManifest()
			if err != nil || before.Provenance == nil || before.Provenance.Key != r.key.ID() {
				unknown = append(unknown, fmt.Sprint(number))
				continue
			}
			now, err := identify(r.key, r.c.Plan, schedule[number-1])
			if err != nil {
				return err
			}
			ran, conditions := rundir.ChangedItems(*before.Provenance, now)
			if len(ran) > 0 {
				return fmt.Errorf("%s: --plan-changed: %s has a run and would run something else now, which differs in %s; give another --out",
					r.c.Dir, schedule[number-1], strings.Join(ran, ", "))
			}
			under = append(under, conditions...)
		}
	}
	if len(unknown) > 0 {
		r.c.Log.Warn("runs from before do not record what ran: whether the changed plan runs the same is not checked", "slots", strings.Join(slices.Compact(unknown), ", "))
	}
	if slices.Sort(under); len(under) > 0 {
		r.c.Log.Warn("the changed plan prepares runs otherwise: arms with runs of both kinds are no ground for a decision", "differ", strings.Join(slices.Compact(under), ", "))
	}
	return nil
}
