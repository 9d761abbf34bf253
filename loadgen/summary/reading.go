package summary

import (
	"cmp"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// reading evaluates one source in the measured phases: the figures of the summary and the inputs of the validity rules.
type reading struct {
	Machine
	in      inputs
	log     *telemetry.Log
	source  *telemetry.SourceLog
	windows []telemetry.Window
	// whole is true if the windows cover all of the measured time. A counter over less time proves no absence of events,
	// and its growth cannot be divided by what was served in all of it.
	whole bool

	windowSeconds float64
	throttle      map[string]float64
	swappedIn     *float64
	gb10          bool
	powerFaults   int
	powerSamples  int
	countersRead  int
	countersReset []string
	// kvDiffers names the pages of engines that disagree about the size of the KV cache.
	kvDiffers []string
	// foreign are the processes on the GPU that are not the engine's; foreignKnown is true if processes could be told
	// apart.
	foreign      []held
	foreignKnown bool
}

// readings evaluates every source of the telemetry.
func readings(in inputs) []*reading {
	if in.Telemetry == nil {
		return nil
	}
	var all []*reading
	for _, source := range in.Telemetry.Sources {
		if source.Foreign {
			continue // a page of an engine is not a machine
		}
		r := &reading{in: in, log: in.Telemetry, source: source, whole: true}
		r.Origin = Origin{source.Name, source.Mode()}
		for _, name := range phaseNames(in.measured()) {
			r.windows = append(r.windows, r.log.Windows(source, name)...)
			r.whole = r.whole && r.log.Bounded(source, name)
		}
		for _, w := range r.windows {
			r.windowSeconds += seconds(w.ToNS - w.FromNS)
		}
		if !in.several() {
			if r.KV = r.kv(); len(r.kvDiffers) == 0 {
				r.KV = in.kv(r, r.KV)
			}
		}
		r.Memory = r.memory()
		r.Thermal = r.thermal()
		r.Energy = r.energy()
		r.Work = r.work()
		r.Growth = r.growth()
		r.DriverLog = r.driverLog()
		r.Network = r.network()
		r.swap()
		r.power()
		r.processes()
		all = append(all, r)
	}
	return all
}

func phaseNames(phases []rundir.Span) []string {
	var names []string
	seen := map[string]bool{}
	for _, phase := range phases {
		if !seen[phase.Name] {
			seen[phase.Name] = true
			names = append(names, phase.Name)
		}
	}
	return names
}

// measures reports whether a source is that of the measured host: named like the label host, or the only one.
func (in inputs) measures(source string) bool {
	machines := 0
	for _, s := range in.Telemetry.Sources {
		if !s.Foreign {
			machines++
		}
	}
	return machines == 1 || source == in.Labels[string(metric.LabelHost)]
}

// ofMeasuredHost returns the source of the measured host.
func ofMeasuredHost(all []*reading) *reading {
	for _, r := range all {
		if r.in.measures(r.source.Name) {
			return r
		}
	}
	return nil
}

// measuredMachines returns the machines whose telemetry decides the validity of the run, the measured host first, then
// every other one whose telemetry was requested, since an engine may span several. Machines that were only discovered,
// and sources that are not live, are left out.
func measuredMachines(in inputs, all []*reading) []*reading {
	host := ofMeasuredHost(all)
	if host == nil {
		return nil
	}
	var measured []*reading
	for _, r := range all {
		switch {
		case !r.Live():
		case r == host:
			measured = slices.Insert(measured, 0, r)
		case in.TelemetryRequested:
			measured = append(measured, r)
		}
	}
	return measured
}

// over visits the moments of the measured phases at which the source was sampled.
func (r *reading) over(visit func(ns int64)) {
	for _, ns := range r.source.Samples {
		for _, w := range r.windows {
			if ns >= w.FromNS && ns <= w.ToNS {
				visit(ns)
				break
			}
		}
	}
}

// total returns the sum of a family's series at a moment; absent without any.
func (r *reading) total(family metric.Definer, ns int64) (float64, bool) {
	var total float64
	found := false
	for _, series := range r.source.Find(family) {
		if v, ok := series.At(ns); ok {
			total, found = total+v, true
		}
	}
	return total, found
}

// largest returns the largest of a family's series at a moment; absent without any.
func (r *reading) largest(family metric.Definer, ns int64) (float64, bool) {
	var most *float64
	for _, series := range r.source.Find(family) {
		if v, ok := series.At(ns); ok {
			keepIf(&most, v, 1)
		}
	}
	if most == nil {
		return 0, false
	}
	return *most, true
}

// keepIf replaces the kept value by a larger one (sign 1) or a smaller one (sign -1), and reports whether it did.
func keepIf(kept **float64, v float64, sign int) bool {
	if *kept != nil && cmp.Compare(v, **kept) != sign {
		return false
	}
	*kept = &v
	return true
}

// increase returns the growth of a counter in the measured phases. It records resets: a rule or a figure uses every
// counter that is read with it.
func (r *reading) increase(series *telemetry.Series) (float64, bool) {
	if r.still() {
		return 0, false // in a snapshot counters do not change, whatever happened during the run
	}
	var total float64
	for _, w := range r.windows {
		grown, reset, ok := series.Increase(w)
		if !ok {
			return 0, false
		}
		if reset {
			r.countersReset = append(r.countersReset, series.Key())
		}
		total += grown
	}
	if len(r.windows) > 0 {
		r.countersRead++
	}
	return total, len(r.windows) > 0
}

func (r *reading) swap() {
	for _, series := range r.source.Find(metric.VmstatSwappedInBytesTotal) {
		if bytes, ok := r.increase(series); ok {
			r.swappedIn = &bytes
		}
	}
}

// deltas returns the growth of the counters of the measured host, if there is one, and of the pages of engines, between
// the borders of a phase; of a phase that ran several times, only if it is known for all of them. Series of a page have
// its source among their labels.
func deltas(log *telemetry.Log, host *reading, phase string) map[string]Delta {
	if log == nil {
		return nil
	}
	deltas := map[string]Delta{}
	for _, source := range log.Sources {
		if source.Foreign || (host != nil && source == host.source) {
			addDeltas(deltas, log, source, phase)
		}
	}
	if len(deltas) == 0 {
		return nil
	}
	return deltas
}

func addDeltas(deltas map[string]Delta, log *telemetry.Log, source *telemetry.SourceLog, phase string) {
	if !log.Bounded(source, phase) {
		return
	}
	counters, windows := counterNames(), log.Windows(source, phase)
	for _, series := range source.Series {
		if !counters[series.Name] && !series.Counter {
			continue
		}
		if sum, ok := deltaOver(series, windows); ok {
			deltas[series.Key()] = sum
		}
	}
}

// deltaOver sums the growth over windows; there is no sum if one of them has none.
func deltaOver(series *telemetry.Series, windows []telemetry.Window) (sum Delta, ok bool) {
	for _, w := range windows {
		grown, reset, ok := series.Increase(w)
		if !ok {
			return Delta{}, false
		}
		sum = Delta{sum.Delta + grown, sum.Reset || reset}
	}
	return sum, true
}

// counterNames returns the names of all counters in the vocabulary.
func counterNames() map[string]bool {
	names := map[string]bool{}
	for _, definer := range metric.All() {
		if counter, ok := definer.(metric.Counter); ok {
			names[counter.Def().Name] = true
		}
	}
	return names
}
