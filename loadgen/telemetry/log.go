package telemetry

import (
	"iter"
	"slices"
	"sort"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// Log is the content of a telemetry file. All offsets are nanoseconds since the run's start.
type Log struct {
	// Engines are the engines whose own pages are understood; they are not part of the file.
	Engines spec.Engines
	// IntervalNS is the requested time between two samples.
	IntervalNS int64
	// Sources are in the order of the file, never mixed: each is another host, or another kind of page of one host.
	Sources []*SourceLog
	// Phases are the phases in the order in which they began.
	Phases []Phase
	// Torn is true if the file has no end: the run was killed or is still running.
	Torn bool
}

// Phase is the beginning of a phase of the run.
type Phase struct {
	Name string
	AtNS int64
}

// SourceLog is the telemetry of one source.
type SourceLog struct {
	Name string
	// URL is the address of the page, without user and query.
	URL string
	// Foreign is true if the page belongs to an engine or a KV block manager.
	Foreign bool
	// Samples are the offsets of successful samples, ascending.
	Samples []int64
	// Gaps are the samples that failed, ascending.
	Gaps []Gap
	// Series are in the order in which they first appeared.
	Series []*Series
	// Dropped counts, by family, the series beyond the limit.
	Dropped map[string]int

	families map[string][]*Series // Series by name
	borders  map[int]int64        // offset of the sample taken because phase i began
}

// Gap is one missing sample, or several in a row.
type Gap struct {
	AtNS    int64
	Samples int
	Reason  string
}

// Series is one series of one source.
type Series struct {
	Name   string
	Labels map[string]string
	// Counter is true if an engine's page types the series as counter.
	Counter bool

	source  *SourceLog
	changes []change
}

// change is a new value, or the end of the series, at one of the source's samples.
type change struct {
	atNS  int64
	value float64
	gone  bool
}

// Point is one sample of a series.
type Point struct {
	AtNS  int64
	Value float64
}

// Window is the part of a phase between its first sample and the first one of the next phase.
type Window struct{ FromNS, ToNS int64 }

// Source returns the source of that name, or nil.
func (l *Log) Source(name string) *SourceLog {
	i := slices.IndexFunc(l.Sources, func(s *SourceLog) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return l.Sources[i]
}

// Windows returns the windows of every phase of that name, as samples of this source bound
// them. A phase whose first or following border has no sample has no window; the last phase
// ends with the last sample.
func (l *Log) Windows(source *SourceLog, phase string) []Window {
	var windows []Window
	for i, p := range l.Phases {
		from, ok := source.borders[i]
		if p.Name != phase || !ok {
			continue
		}
		to, ok := source.borders[i+1]
		if i == len(l.Phases)-1 {
			to, ok = source.Samples[len(source.Samples)-1], true
		}
		if ok {
			windows = append(windows, Window{from, to})
		}
	}
	return windows
}

// Bounded reports whether there is a phase of that name and every such phase has a window of this source: a count over
// some of them is not the count over all.
func (l *Log) Bounded(source *SourceLog, phase string) bool {
	began := 0
	for _, p := range l.Phases {
		if p.Name == phase {
			began++
		}
	}
	return began > 0 && len(l.Windows(source, phase)) == began
}

// MissingBorders returns the names of the phases whose beginning has no sample of this source. An engine has none in
// phases before its first sample.
func (l *Log) MissingBorders(source *SourceLog) []string {
	var missing []string
	for i, p := range l.Phases {
		away := source.Foreign && (len(source.Samples) == 0 || p.AtNS < source.Samples[0])
		if _, ok := source.borders[i]; !ok && !away {
			missing = append(missing, p.Name)
		}
	}
	return missing
}

// ModeUnknown is the mode of a source that never reported one.
const ModeUnknown = "unknown"

// Mode returns the origin of the source's figures, as the exporter reports it: live, replay, constructed or simulated;
// "mixed" if it changed during the run, "unknown" if it was never reported.
func (s *SourceLog) Mode() string {
	mode := ModeUnknown
	for _, series := range s.Find(metric.ExporterMode) {
		if !series.everOne() {
			continue
		}
		if mode != ModeUnknown {
			return "mixed"
		}
		mode = series.Labels[string(metric.LabelMode)]
	}
	return mode
}

func (s *Series) everOne() bool {
	return slices.ContainsFunc(s.changes, func(c change) bool { return !c.gone && c.value == 1 })
}

// SameMachine reports whether two sources show the same GPU: they are two exporters of one machine, or one of its
// exporters by two addresses.
func (s *SourceLog) SameMachine(as *SourceLog) bool {
	uuid := string(metric.LabelUUID)
	theirs := as.Find(metric.GPUInfo)
	return slices.ContainsFunc(s.Find(metric.GPUInfo), func(own *Series) bool {
		return own.Labels[uuid] != "" && slices.ContainsFunc(theirs, func(t *Series) bool { return t.Labels[uuid] == own.Labels[uuid] })
	})
}

// add adds a series to the source.
func (s *SourceLog) add(series *Series) {
	if s.families == nil {
		s.families = map[string][]*Series{}
	}
	series.source = s
	s.Series = append(s.Series, series)
	s.families[series.Name] = append(s.families[series.Name], series)
}

// Find returns the source's series of a family.
func (s *SourceLog) Find(family metric.Definer) []*Series {
	return slices.Clip(s.families[family.Def().Name])
}

// Has reports whether the source has a series of this name.
func (s *SourceLog) Has(name string) bool { return len(s.families[name]) > 0 }

// Key returns the series in PromQL's notation: name{label="value",...}, labels in order.
func (s *Series) Key() string { return seriesKey(s.Name, s.Labels) }

// Points returns a point for every sample that had the series, in the order of time.
func (s *Series) Points() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		next, here := 0, false
		var value float64
		for _, at := range s.source.Samples {
			for ; next < len(s.changes) && s.changes[next].atNS <= at; next++ {
				value, here = s.changes[next].value, !s.changes[next].gone
			}
			if here && !yield(Point{at, value}) {
				return
			}
		}
	}
}

// Between returns the points from one offset to another, both included.
func (s *Series) Between(fromNS, toNS int64) iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for p := range s.Points() {
			if p.AtNS > toNS {
				return
			}
			if p.AtNS >= fromNS && !yield(p) {
				return
			}
		}
	}
}

// At returns the value in the last sample at or before the offset. It returns false if the series was not on that page,
// if there is no such sample, or if a later one failed.
func (s *Series) At(ns int64) (float64, bool) {
	after := func(n int, at func(int) int64) int {
		return sort.Search(n, func(i int) bool { return at(i) > ns })
	}
	sample := after(len(s.source.Samples), func(i int) int64 { return s.source.Samples[i] }) - 1
	if sample < 0 {
		return 0, false
	}
	gap := after(len(s.source.Gaps), func(i int) int64 { return s.source.Gaps[i].AtNS }) - 1
	if gap >= 0 && s.source.Gaps[gap].AtNS > s.source.Samples[sample] {
		return 0, false
	}
	last := after(len(s.changes), func(i int) int64 { return s.changes[i].atNS }) - 1
	if last < 0 || s.changes[last].gone {
		return 0, false
	}
	return s.changes[last].value, true
}

// Increase returns how much a counter grew in the window, and whether it was reset within it: the increase then lacks
// the counts between its last sample and the reset. There is no increase without a value at both ends.
func (s *Series) Increase(w Window) (increase float64, reset, ok bool) {
	previous, from := s.At(w.FromNS)
	_, to := s.At(w.ToNS)
	if !from || !to {
		return 0, false, false
	}
	for p := range s.Between(w.FromNS, w.ToNS) {
		if p.Value < previous {
			reset, previous = true, 0
		}
		increase += p.Value - previous
		previous = p.Value
	}
	return increase, reset, true
}
