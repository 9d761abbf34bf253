package rundir

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ProvenanceItem is one property that distinguishes runs, with a name for people: option --slow of engine.
type ProvenanceItem struct {
	Name string
	// Value is shown. Hash replaces a value that must not be shown, and is compared.
	Value, Hash string
	// Planned is true if the item follows from the plan alone, before anything is started.
	Planned bool
	// Flag is true for a flag of the run, whose value is in the manifest.
	Flag bool
}

// flagPrefix is the prefix of the names of a plan's run flags.
const flagPrefix = "flag --"

// ProvenanceItems lists the items that identify a run, in display order.
func ProvenanceItems(p Provenance) []ProvenanceItem {
	var all []ProvenanceItem
	for _, process := range p.Processes {
		all = append(all, itemsOf(process)...)
	}
	for _, file := range p.Files {
		all = append(all, provenanceItem("file "+file.Name, file, true))
	}
	for _, part := range p.Plan {
		one := provenanceItem("plan: "+part.Name, part, true)
		if one.Flag = strings.HasPrefix(part.Name, flagPrefix); one.Flag {
			one.Name = part.Name
		}
		all = append(all, one)
	}
	return all
}

func itemsOf(p RanProcess) []ProvenanceItem {
	of, planned := " of "+p.Name, p.ReadFrom == ReadFromPlan
	all := []ProvenanceItem{{Name: "program" + of, Value: p.Program, Planned: planned}}
	if p.Program == "" {
		all = nil
	}
	for _, option := range p.Options {
		name := option.Name
		if strings.HasPrefix(name, "-") {
			name = "option " + name
		}
		all = append(all, provenanceItem(strings.TrimSpace(option.Program+" "+name)+of, option, planned))
	}
	for _, variable := range p.Environment {
		all = append(all, provenanceItem("environment "+variable.Name+of, variable, planned))
	}
	for _, variable := range p.Inherited {
		all = append(all, provenanceItem("inherited environment "+variable.Name+of, variable, false))
	}
	if p.Image != "" {
		all = append(all, ProvenanceItem{Name: "image" + of, Hash: p.Image})
	}
	if c := p.Changed; c != nil {
		all = append(all, ProvenanceItem{Name: "changed files in the container" + of, Value: fmt.Sprint(c.Files), Hash: c.Hash})
	}
	return all
}

func provenanceItem(name string, h Hashed, planned bool) ProvenanceItem {
	return ProvenanceItem{Name: name, Value: strings.Join(h.Values, ", "), Hash: strings.Join(h.Hashes, " "), Planned: planned}
}

// planConditions are the parts of a plan that change how a run is prepared and checked, and not what runs.
func planConditions() []string { return []string{"plan: gates", "plan: checks", "plan: collect"} }

// ChangedItems lists by name what a plan changes against a run that was made: what runs, and the conditions under which it
// runs. Both arguments must be hashed with the same key.
func ChangedItems(run, plan Provenance) (ran, under []string) {
	planned := func(p Provenance) map[string]ProvenanceItem {
		all := map[string]ProvenanceItem{}
		for _, one := range ProvenanceItems(p) {
			if one.Planned {
				all[one.Name] = one
			}
		}
		return all
	}
	before, now := planned(run), planned(plan)
	names := slices.Collect(maps.Keys(before))
	for name := range now {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, cmp.Compare)
	for _, name := range names {
		switch {
		case before[name] == now[name]:
		case slices.Contains(planConditions(), name):
			under = append(under, name)
		default:
			ran = append(ran, name)
		}
	}
	return ran, under
}
