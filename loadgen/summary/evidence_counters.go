package summary

import (
	"slices"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// counters reads the counters of a run's telemetry between the borders of phases.
type counters struct {
	log       *telemetry.Log
	simulated bool // the engine reports itself as simulated, so that a simulated machine may be its own
	// hosts are the measured machines, that of the run first.
	hosts []string
}

// sources returns the sources that observed this run, without replayed or constructed ones; the measured machines come
// first.
func (w counters) sources() []*telemetry.SourceLog {
	var own []*telemetry.SourceLog
	if w.log == nil {
		return nil
	}
	for _, source := range w.log.Sources {
		switch mode := source.Mode(); {
		case mode == metric.ModeReplay, mode == metric.ModeConstructed, mode == metric.ModeSimulated && !w.simulated:
			continue
		}
		own = append(own, source)
	}
	slices.SortStableFunc(own, func(a, b *telemetry.SourceLog) int { return w.rank(a) - w.rank(b) })
	return own
}

func (w counters) rank(source *telemetry.SourceLog) int {
	if at := slices.Index(w.hosts, source.Name); at >= 0 {
		return at
	}
	return len(w.hosts)
}

// grown sums the growth of the matching series of a source in the phases. Gone is true if a series had a sample when a
// phase began, and none when it ended.
func (w counters) grown(source *telemetry.SourceLog, phases []string, match func(*telemetry.Series) bool) (count evidence.Count, gone bool) {
	windows, whole := w.windows(source, phases)
	for _, series := range source.Series {
		if !match(series) {
			continue
		}
		gone = gone || !whole && silent(source)
		for _, window := range windows {
			_, began := series.At(window.FromNS)
			increase, reset, ok := series.Increase(window)
			gone = gone || began && !ok
			if ok {
				count = evidence.Count{Value: count.Value + increase, Known: true, Reset: count.Reset || reset}
			}
		}
	}
	// A partial count must not be compared with the complete one of another figure.
	count.Known = count.Known && whole && !gone
	return count, gone
}

// silent reports whether the page did not answer any more at the end.
func silent(source *telemetry.SourceLog) bool {
	samples, gaps := source.Samples, source.Gaps
	return len(gaps) > 0 && len(samples) > 0 && gaps[len(gaps)-1].AtNS > samples[len(samples)-1]
}

// windows returns the windows of the phases. Whole is false if a border has no sample of the source.
func (w counters) windows(source *telemetry.SourceLog, phases []string) (windows []telemetry.Window, whole bool) {
	for _, phase := range phases {
		windows = append(windows, w.log.Windows(source, phase)...)
	}
	began := 0
	for _, p := range w.log.Phases {
		if slices.Contains(phases, p.Name) {
			began++
		}
	}
	return windows, len(windows) == began
}

// labelled matches the series of a family with these labels, in pairs.
func labelled(family metric.Definer, pairs ...string) func(*telemetry.Series) bool {
	name := family.Def().Name
	return func(s *telemetry.Series) bool {
		for i := 0; i < len(pairs); i += 2 {
			if s.Labels[pairs[i]] != pairs[i+1] {
				return false
			}
		}
		return s.Name == name
	}
}

// route matches the series of blocks on a route, by the exporter's names.
func route(op, from, to string) func(*telemetry.Series) bool {
	return labelled(metric.KVBMBlocksTotal, string(metric.LabelOp), op, string(metric.LabelFrom), from, string(metric.LabelTo), to)
}

// pageRoute matches the series of blocks on a route by KVBM's own names, some of which name another route by operation.
func pageRoute(op, from, to string) func(*telemetry.Series) bool {
	routes := dynamo.KVBMRoutes()
	i := slices.IndexFunc(routes, func(r dynamo.KVBMRoute) bool { return r.Op == op && r.From == from && r.To == to })
	if i < 0 {
		return func(*telemetry.Series) bool { return false }
	}
	return pageSeries(routes[i].Blocks)
}

func pageSeries(name string) func(*telemetry.Series) bool {
	return func(s *telemetry.Series) bool {
		return slices.ContainsFunc(dynamo.KVBMPrefixes(), func(prefix string) bool { return s.Name == prefix+name })
	}
}

// vocabulary holds the series names by which a source reports KVBM.
type vocabulary struct {
	route   func(op, from, to string) func(*telemetry.Series) bool
	matched func(*telemetry.Series) bool
}

// vocabularies returns the exporter's names and KVBM's own.
func vocabularies() []vocabulary {
	return []vocabulary{
		{route, labelled(metric.KVBMMatchedTokensTotal)},
		{pageRoute, pageSeries(dynamo.KVBMMatchedTokens)},
	}
}

// moved returns the growth of KVBM's counters. The first source that has any counts: an exporter and a page of --scrape
// report the same blocks. If it is an exporter, those of other measured machines with a page of their own are added.
func (w counters) moved(phases []string) evidence.Moved {
	var gone evidence.Moved
	for _, source := range w.sources() {
		for _, words := range vocabularies() {
			m := w.movedBy(source, phases, words)
			switch {
			case m.Seen:
				return w.withOthers(m, source, phases, words)
			case m.Gone:
				gone = m
			}
		}
	}
	return gone
}

func (w counters) movedBy(source *telemetry.SourceLog, phases []string, words vocabulary) evidence.Moved {
	var m evidence.Moved
	read := func(match func(*telemetry.Series) bool) evidence.Count {
		count, gone := w.grown(source, phases, match)
		m.Gone = m.Gone || gone
		m.Seen = m.Seen || count.Known
		return count
	}
	toHost := read(words.route(metric.OpOnboard, metric.TierDisk, metric.TierHost))
	m.FromDisk = either(read(words.route(metric.OpOnboard, metric.TierDisk, metric.TierDevice)), toHost)
	m.FromHost = read(words.route(metric.OpOnboard, metric.TierHost, metric.TierDevice))
	// Version 2, which no release of Dynamo up to 1.6.1 has, brings blocks from the disk by the host, and counts both
	// legs.
	m.FromHost.Value = max(0, m.FromHost.Value-toHost.Value)
	m.ToDisk = either(read(words.route(metric.OpOffload, metric.TierHost, metric.TierDisk)), read(words.route(metric.OpOffload, metric.TierDevice, metric.TierDisk)))
	m.ToHost = read(words.route(metric.OpOffload, metric.TierDevice, metric.TierHost))
	m.MatchedTokens = read(words.matched)
	// All counters are of one process: if one fell, the process restarted, and the others were reset too, even if that is
	// not visible. A counter that was small before may have passed its old value between two samples.
	counts := []*evidence.Count{&m.FromDisk, &m.FromHost, &m.ToDisk, &m.ToHost, &m.MatchedTokens}
	if slices.ContainsFunc(counts, func(c *evidence.Count) bool { return c.Reset }) {
		for _, c := range counts {
			c.Reset = true
		}
	}
	if m.Gone {
		m.Seen = false
	}
	m.BlockBytes = blockBytes(source)
	return m
}

// either adds counts of which one may be missing because it had no events.
func either(a, b evidence.Count) evidence.Count {
	return evidence.Count{Value: a.Value + b.Value, Known: a.Known || b.Known, Reset: a.Reset || b.Reset}
}

// blockBytes returns the size of a block by the bytes that an exporter computed; 0 if it did not.
func blockBytes(source *telemetry.SourceLog) float64 {
	key := func(s *telemetry.Series) [4]string {
		l := func(name metric.Label) string { return s.Labels[string(name)] }
		return [4]string{l(metric.LabelSource), l(metric.LabelOp), l(metric.LabelFrom), l(metric.LabelTo)}
	}
	for _, blocks := range source.Find(metric.KVBMBlocksTotal) {
		for _, bytes := range source.Find(metric.KVBMBytesTotal) {
			if key(blocks) == key(bytes) && highest(blocks) > 0 && highest(bytes) > 0 {
				return highest(bytes) / highest(blocks)
			}
		}
	}
	return 0
}

// processes sums the I/O of the processes that may have the disk tier open: the process that the tier is reported for
// and those in its cgroup. Of several that have it open the exporter reports only the first, and another one may do the
// reading. Where no tier is open, it sums all reported processes, which are those that use a GPU. It also returns their
// cgroups.
func (w counters) processes(source *telemetry.SourceLog, phases []string, op string) (count evidence.Count, groups []string) {
	pid := func(s *telemetry.Series) string { return s.Labels[string(metric.LabelPID)] }
	group := func(s *telemetry.Series) string { return s.Labels[string(metric.LabelCgroup)] }
	open := source.Find(metric.KVBMDiskFileBytes)
	owns := func(s *telemetry.Series) bool {
		return len(open) == 0 || slices.ContainsFunc(open, func(file *telemetry.Series) bool {
			return pid(s) == pid(file) || group(s) == group(file) && group(file) != ""
		})
	}
	for _, file := range open {
		groups = append(groups, group(file))
	}
	of := labelled(metric.ProcessIOBytesTotal, string(metric.LabelOp), op)
	count, _ = w.grown(source, phases, func(s *telemetry.Series) bool {
		if !of(s) || !owns(s) {
			return false
		}
		groups = append(groups, group(s))
		return true
	})
	slices.Sort(groups)
	return count, slices.Compact(groups)
}
