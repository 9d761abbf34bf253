package summary

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// digest computes the summary of a run and the data of its charts, in one pass over its records. It fails on the first
// record that cannot be read; it drops a torn last line with a warning.
func digest(in inputs, records iter.Seq2[openai.Record, error]) (Summary, *Requests, error) {
	phases, err := aggregates(in, records)
	torn := errors.Is(err, ErrTorn)
	if err != nil && !torn {
		return Summary{}, nil, err
	}
	total := merged(in.settings(), phases.measured(in))
	return in.summary(phases, total, torn), &Requests{total, phases.line}, nil
}

func (in inputs) summary(phases phaseAggregates, total *aggregate, torn bool) Summary {
	machines := readings(in)
	host := ofMeasuredHost(machines)
	// This run did not cause the figures of a recorded or constructed machine: they are reported with their mode, but no
	// rule and no ratio of the run uses them.
	measured := host
	if host != nil && !host.Live() {
		measured = nil
	}
	together := measuredMachines(in, machines)
	if measured != nil && len(together) == 1 && in.serverHosts() <= 1 {
		measured.Energy.share(knownTokens(total))
	}

	s := in.heading()
	s.Requests, s.Throughput, s.Latency = total.requests, total.throughput(), in.latency(total)
	s.Servers, s.Tool = phases.byServer(in, total), in.Tool
	s.Tokens, s.PrefixCache = total.tokens(), in.prefixCache(phases, total)
	s.Speculation = in.speculation(total)
	s.SLO = in.sloResult(total)
	s.Client = in.client(total)
	s.setMachines(machines, host)
	s.Together = togetherOf(together, in.serverHosts(), knownTokens(total))
	s.setEngine(in)
	s.Decode = s.decode(in, phases, host, together)
	s.Phases = phases.summaries(in, measured, host)
	if only := s.onlyMeasured(); only != nil {
		s.SteadyState, s.Backlog = only.SteadyState, only.Backlog
	}

	doubts := in.doubts(total)
	j := judge(grounds{in, total, phases, together, s.PrefixCache, doubts}, in.Limits)
	s.Valid, s.InvalidReasons, s.Checked = len(j.reasons) == 0, j.reasons, j.checked
	s.Warnings = append([]string{}, j.warnings...) // an empty list rather than null
	s.Warnings = append(s.Warnings, in.warnings(total, machines, host)...)
	s.Warnings = append(s.Warnings, in.doubtCaveats(total, doubts)...)
	if warning := s.SLO.warning(); warning != "" {
		s.Warnings = append(s.Warnings, warning)
	}
	if caveat, seen := in.repeatedPrompts(s.PrefixCache); seen {
		s.Warnings = append(s.Warnings, caveat)
	}
	s.Warnings = append(s.Warnings, slices.Concat(twice(together), unlinked(together))...)
	if torn {
		s.Warnings = append(s.Warnings, "the last line of requests.jsonl is torn and left out: the run was killed")
	}
	return s
}

// heading returns the part of the summary that does not depend on the requests.
func (in inputs) heading() Summary {
	return Summary{
		Schema: Schema, Run: in.Run, Scenario: in.Scenario, Labels: maps.Clone(in.Labels),
		Model: in.Model, WorkloadSHA256: in.WorkloadSHA256, BootID: in.BootID, Signals: in.signals(),
	}
}

// settings returns the parameters that apply to every record.
func (in inputs) settings() *settings {
	return &settings{
		slo: in.Objectives, streaming: in.Streaming,
		stalls: in.Client.Stalls, stamped: in.Client.StampedArrivals, unnoticedNS: cmp.Or(in.Client.UnnoticedNS, math.MaxInt64/2), longestDelay: in.stallLimit(), commonTokens: in.commonTokens(),
	}
}

// stallLimit returns the limit of client_stall, in seconds; the default where the rule is switched off.
func (in inputs) stallLimit() float64 {
	if limit := in.limit(CodeClientStall); limit != nil {
		return *limit
	}
	return ruleOf(CodeClientStall).Limit
}

// end returns the end of the last phase, in seconds.
func (in inputs) end() float64 {
	var end int64
	for _, phase := range in.Phases {
		end = max(end, phase.EndNS)
	}
	return seconds(end)
}

func (in inputs) counts(phase string) bool { return !slices.Contains(in.Unmeasured, phase) }

// phaseAggregates has an aggregate for every phase that has records, and their order.
type phaseAggregates struct {
	names   []string
	of      map[string]*aggregate
	servers map[string]*aggregate // of the measured requests, by URL; nil for a single server
	line    *Timeline             // of all phases
	streams streams               // of measured phases
	load    load                  // of all phases
}

func aggregates(in inputs, records iter.Seq2[openai.Record, error]) (phaseAggregates, error) {
	phases := phaseAggregates{of: map[string]*aggregate{}, line: newTimeline(in.end())}
	settings := in.settings()
	phases.servers = in.newServers(settings)
	for record, err := range records {
		if err != nil {
			return phases, err
		}
		a, known := phases.of[record.Phase]
		if !known {
			a = newAggregate(settings)
			phases.of[record.Phase] = a
			phases.names = append(phases.names, record.Phase)
		}
		a.add(record)
		if of := phases.servers[record.Server]; of != nil && in.counts(record.Phase) {
			of.add(record)
		}
		if in.Streaming {
			phases.addSteps(record, in.counts(record.Phase))
		} else {
			record.FirstTokenNS = nil // the arrival of a whole answer is not a first token
		}
		phases.line.add(record)
	}
	return phases, nil
}

// addSteps keeps what is needed to compare steps of decoding.
func (p *phaseAggregates) addSteps(r openai.Record, measured bool) {
	if r.DispatchNS == nil {
		return // never in flight
	}
	p.load.add(r)
	if measured {
		p.streams.add(r)
	}
}

func (p phaseAggregates) measured(in inputs) []*aggregate {
	var parts []*aggregate
	for _, name := range p.names {
		if in.counts(name) {
			parts = append(parts, p.of[name])
		}
	}
	return parts
}

// summaries returns the phases of the run and any other that a record names. A phase that ran twice is one entry from
// its first start to its last end. Counters are those of a live host; its work is told of simulated ones too.
func (p phaseAggregates) summaries(in inputs, measured, host *reading) map[string]PhaseSummary {
	all := map[string]PhaseSummary{}
	for _, phase := range in.Phases {
		s, again := all[phase.Name]
		if !again {
			s = p.summary(in, phase.Name)
			s.Start = seconds(phase.StartNS)
		}
		s.End = seconds(phase.EndNS)
		if alone := host.during(phase.Name); alone != nil {
			s.Work, s.GPUHeldPeak = alone.work(), alone.heldPeak()
		}
		s.Deltas = deltas(in.Telemetry, measured, phase.Name)
		all[phase.Name] = s
	}
	for _, name := range p.names {
		if _, known := all[name]; !known {
			s := p.summary(in, name)
			s.Start, s.End = seconds(p.of[name].firstNS), seconds(p.of[name].lastNS)
			all[name] = s
		}
	}
	return all
}

func (p phaseAggregates) summary(in inputs, name string) PhaseSummary {
	a, ok := p.of[name]
	if !ok {
		a = newAggregate(&settings{})
	}
	s := PhaseSummary{Measured: in.counts(name), Requests: a.requests, Latency: in.latency(a), Throughput: a.throughput()}
	if s.Measured {
		s.SteadyState = a.steadyState()
	}
	if s.Measured && slices.Contains(in.Open, name) {
		s.Backlog = a.backlog()
	}
	return s
}

// latency returns the latencies of requests; nil where uma-load did not send them.
func (in inputs) latency(a *aggregate) *Latency {
	if in.Tool != nil {
		return nil
	}
	l := a.latency()
	if !in.Client.StampedArrivals {
		l.forgetBounds()
	}
	return &l
}

func (s *Summary) setMachines(machines []*reading, host *reading) {
	for _, r := range machines {
		s.Machines = append(s.Machines, r.Machine)
	}
	if host != nil {
		s.Memory, s.KV, s.Thermal, s.Energy, s.Work, s.Growth = host.Memory, host.KV, host.Thermal, host.Energy, host.Work, host.Growth
	}
}

// setEngine adds the figures that the engine reported to those that were measured.
func (s *Summary) setEngine(in inputs) {
	if in.Engine == nil {
		return
	}
	memory := Memory{Origin: Origin{Source: in.Labels[string(metric.LabelHost)], Mode: telemetry.ModeUnknown}}
	if s.Memory != nil {
		memory = *s.Memory
	}
	memory.EngineReported = in.Engine
	s.Memory = &memory
}

// onlyMeasured returns the measured phase, if only one had load: the windows of several phases do not form one window.
func (s Summary) onlyMeasured() *PhaseSummary {
	var only *PhaseSummary
	for _, phase := range s.Phases {
		switch {
		case phase.SteadyState == nil:
		case only != nil:
			return nil
		default:
			only = &phase
		}
	}
	return only
}

// knownTokens returns the number of output tokens served; 0 when a request has no count.
func knownTokens(a *aggregate) int64 {
	counts := a.sent.values(tokensOut)
	if len(counts) < a.requests[openai.StatusOK] {
		return 0
	}
	return sum(counts)
}

// warnings returns the caveats of a run that do not make it invalid.
func (in inputs) warnings(total *aggregate, machines []*reading, host *reading) []string {
	var w []string
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	ok := total.requests[openai.StatusOK]
	if in.Model.Simulated {
		add("%s is a simulated engine: its latencies and throughput say nothing of any hardware", in.Model.ID)
	}
	if !in.Streaming {
		add("answers were not streamed: there are no first-token and per-token latencies")
	}
	if n := total.unbelieved.total(); n > 0 {
		add("the server's counts of %d of %d answers cannot be right: tokens per second are absent, and these answers have no TPOT: %s", n, ok, total.unbelieved)
	} else if missing := ok - len(total.sent.values(tokensOut)); missing > 0 {
		add("%d of %d answers have no token count: tokens per second are absent", missing, ok)
	}
	if total.guessed > 0 {
		add("of %d of %d answers the server told no tokens: a chunk counts as one there, and tokens per second and TPOT are wrong if chunks hold several", total.guessed, ok)
	}
	if total.contradicted > 0 {
		add("%d of %d answers came in more chunks than the server counts output tokens: they have no TPOT, and tokens per second may be too low", total.contradicted, ok)
	}
	if n := len(total.unknown); n > 0 {
		add("%s", total.unknownMembers())
	}
	if total.resent > 0 {
		add("%d of %d requests met a kept connection on which the server answered no byte, and were sent again on another: the time lost is in their latencies", total.resent, total.total())
	}
	if failed := total.failed(); failed > 0 {
		add("%d of %d requests did not end ok and are in no latency: %s", failed, total.total(), total.errors)
	}
	for _, r := range machines {
		w = append(w, r.warnings()...)
	}
	w = append(w, in.pageWarnings()...)
	if line := droppedSeries(in.Telemetry); line != "" {
		w = append(w, line)
	}
	switch measured := in.Labels[string(metric.LabelHost)]; {
	case len(machines) == 0:
	case host == nil:
		add("no telemetry source is named like the measured host %q: memory, thermal and energy are not observed", measured)
	case host.Origin.Source != measured:
		add("the only telemetry source, %s, is taken for the measured host %q: name it so if it is", host.Origin.Source, measured)
	}
	return w
}

// unknownMembers names the members under which answers had text that counts as output.
func (a *aggregate) unknownMembers() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(a.unknown)) {
		names = append(names, fmt.Sprintf("%s (%d)", name, a.unknown[name]))
	}
	shown := strings.Join(names[:min(len(names), shownErrors)], ", ")
	if len(names) > shownErrors {
		shown += " and others"
	}
	return fmt.Sprintf("answers have text under members that no known API has: %s; it counts as output, and as reasoning if the name is one of reasoning; TTFO is absent where it is neither", shown)
}

// pageWarnings returns the warnings about pages of engines.
func (in inputs) pageWarnings() []string {
	var w []string
	if in.Telemetry == nil {
		return w
	}
	for _, source := range in.Telemetry.Sources {
		if source.Foreign && len(source.Samples) == 0 {
			w = append(w, fmt.Sprintf("the page %s never answered: nothing of it is observed", source.Name))
		}
	}
	return w
}

func (r *reading) warnings() []string {
	var w []string
	add := func(text string, args ...any) {
		w = append(w, fmt.Sprintf("telemetry of %s: ", r.Origin.Source)+fmt.Sprintf(text, args...))
	}
	if !r.Live() {
		add("%s, not live: its figures are not measurements of this run", r.Mode)
	}
	if capped := r.throttle[metric.ReasonSWPowerCap]; capped > 0 && r.Live() {
		add("clocks were held by the software power cap for %s of %s", format.Seconds(capped), format.Seconds(r.windowSeconds))
	}
	if r.Thermal.asleep() && r.Live() {
		add("no GPU left performance state P%.0f in the warm-up: it was not at work when measuring began", *r.Thermal.WarmupPerformanceState)
	}
	if warning := r.driverLogWarning(); warning != "" {
		add("%s", warning)
	}
	for _, g := range r.Growth {
		if warning := g.warning(); warning != "" {
			add("%s", warning)
		}
	}
	if len(r.kvDiffers) > 0 {
		add("%s tell of KV caches of different size: its capacity is not known", strings.Join(r.kvDiffers, ", "))
	}
	for _, trouble := range r.Network.troubles() {
		add("%s", trouble)
	}
	if !r.whole {
		add("a border of the measured phases has no sample: their energy and what else grew is not known")
	}
	if r.log.Torn {
		add("the file is torn: the last second may be missing")
	}
	return w
}
