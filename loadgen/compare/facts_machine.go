package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// machine adds the properties of a machine, by its exporter. The items begin with a word, which is empty for the host
// of the run.
func (f *factList) machine(word string, m *rundir.Machine) {
	f.add(word+"machine", m.Host[string(metric.LabelProduct)])
	f.add(word+FactKernel, m.Host[string(metric.LabelKernel)])
	f.add(word+"architecture", m.Host[string(metric.LabelArch)])
	for _, of := range []struct {
		item  string
		label metric.Label
	}{{"GPU", metric.LabelName}, {FactDriver, metric.LabelDriver}, {"CUDA of the driver", metric.LabelCUDAVersion}, {"VBIOS", metric.LabelVBIOS}} {
		f.add(word+of.item, distinctValues(m.GPUs, string(of.label)))
	}
	f.limits(word, m.GPULimits)
}

// limits adds the limits of the GPUs; of several, in their order.
func (f *factList) limits(word string, all []rundir.GPULimit) {
	var watts, hertz []string
	for _, l := range all {
		if l.PowerWatts != nil {
			watts = append(watts, fmt.Sprintf("%g W", *l.PowerWatts))
		}
		if l.SMClockHertz != nil {
			hertz = append(hertz, fmt.Sprintf("%g MHz", *l.SMClockHertz/1e6))
		}
	}
	f.add(word+"GPU power limit", strings.Join(watts, ", "))
	f.add(word+"GPU clock limit", strings.Join(hertz, ", "))
}

// conditions adds the state of a machine when the run began, and its events during the run.
func (f *factList) conditions(word string, memory *summary.Memory, thermal *summary.Thermal) {
	if memory != nil && memory.LedgerAt != nil {
		start := memory.LedgerAt.Start
		if free, known := start.Free(); known {
			f.number(word+FactMemFree, &free, memoryTolerance, "bytes")
		}
		if cache, known := start[ledger.PageCache]; known {
			f.number(word+FactPageCache, &cache, memoryTolerance, "bytes")
		}
	}
	if t := thermal; t != nil {
		f.number(word+FactTemperature, t.StartCelsius, celsiusTolerance, "C")
		f.number(word+"GPU performance state in the warm-up", t.WarmupPerformanceState, 0, "")
		for _, reason := range slices.Sorted(maps.Keys(t.ThrottleSeconds)) {
			spent := t.ThrottleSeconds[reason]
			f.number(word+"clocks held by "+strings.ReplaceAll(reason, "_", " "), &spent, secondsTolerance, "s")
		}
	}
}

// further returns the measured machines other than the host of the run.
func (r observed) further() []summary.Machine {
	t := r.Summary.Together
	if t == nil {
		return nil
	}
	var all []summary.Machine
	for _, m := range r.Summary.Machines {
		if m.Source != r.Summary.Labels[labelHost] && slices.Contains(t.Hosts, m.Source) {
			all = append(all, m)
		}
	}
	return all
}

// furtherFacts adds the same facts as for the host, each under the name of its machine: an engine that spans machines
// is only as comparable as the warmest of them.
func (r observed) furtherFacts(f *factList) {
	switch t, m := r.Summary.Together, r.machine(); {
	case t != nil:
		f.add("measured machines", strings.Join(t.Hosts, ", "))
	case m != nil:
		f.add("measured machines", m.Source)
	}
	for _, m := range r.further() {
		word := m.Source + ": "
		if at := slices.IndexFunc(r.Manifest.Machines, func(of rundir.Machine) bool { return of.Source == m.Source }); at >= 0 {
			f.machine(word, &r.Manifest.Machines[at])
		}
		f.conditions(word, m.Memory, m.Thermal)
	}
}

// furtherLedgers returns the ledgers of these machines; nil without any.
func (r observed) furtherLedgers() map[string]summary.Ledgers {
	var all map[string]summary.Ledgers
	for _, m := range r.further() {
		if m.Memory == nil || m.Memory.LedgerAt == nil {
			continue
		}
		if all == nil {
			all = map[string]summary.Ledgers{}
		}
		all[m.Source] = *m.Memory.LedgerAt
	}
	return all
}
