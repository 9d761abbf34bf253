package summary

import (
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Bounds are the intervals in which the true percentiles of a distribution lie, lowest and highest, by the name of the
// percentile. The client makes them wide: a request left its socket between dispatch and write, and an event that came
// in a late read arrived between the read before and the stamp of its own. The time that network and server took to open
// a connection is no such doubt. Percentiles that the distribution does not have are absent.
type Bounds map[string][2]float64

// percentile is one of a Distribution.
type percentile struct {
	name  string
	p     float64
	value *float64 // nil if there are too few values
}

func (d *Distribution) percentiles() []percentile {
	return []percentile{{"p25", .25, d.P25}, {"p50", .5, d.P50}, {"p75", .75, d.P75}, {"p90", .9, d.P90}, {"p95", .95, d.P95}, {"p99", .99, d.P99}, {"p999", .999, d.P999}}
}

// setBounds sets the intervals from the distributions of the lowest and the highest values.
func (d *Distribution) setBounds(low, high *Distribution) {
	d.Bounds = Bounds{}
	lows, highs := low.percentiles(), high.percentiles()
	for i, of := range d.percentiles() {
		if of.value != nil && lows[i].value != nil && highs[i].value != nil {
			d.Bounds[of.name] = [2]float64{min(*lows[i].value, *of.value), max(*highs[i].value, *of.value)}
		}
	}
}

// off returns how far a percentile may be from its true value; false if that is not known.
func (d *Distribution) off(of percentile) (seconds float64, known bool) {
	b, known := d.Bounds[of.name]
	if !known || of.value == nil {
		return 0, false
	}
	return max(*of.value-b[0], b[1]-*of.value), true
}

// Doubt returns how far a percentile, such as p50, may be from its true value, in seconds; nil if that is not known.
func (d *Distribution) Doubt(name string) *float64 {
	for _, of := range d.percentiles() {
		if off, known := d.off(of); known && of.name == name {
			return &off
		}
	}
	return nil
}

// bounded is a quantity with its lowest and highest value.
type bounded struct {
	value, low, high Quantity
	// read is the lowest value where only arrivals are in doubt.
	read Quantity
}

// fromStart returns a latency that begins with the request: it may be shorter by the time that the request took to leave
// and by the time that its last event may have come earlier. From the intended start, it may be shorter by the lag of
// the client too.
func fromStart(value func(openai.Origin) Quantity, early func(sample) int64) func(openai.Origin) bounded {
	return func(from openai.Origin) bounded {
		of := value(from)
		less := func(by func(sample) int64) Quantity {
			return func(s sample) int64 {
				if v := of(s); v != absent {
					return max(0, v-by(s))
				}
				return absent
			}
		}
		return bounded{value: of, high: of, read: less(early), low: less(func(s sample) int64 {
			late := s.leavingNS
			if lag := clientLag(s); from == openai.FromIntended && lag != absent {
				late += max(0, lag)
			}
			return late + early(s)
		})}
	}
}

func boundedTTFT() func(openai.Origin) bounded {
	return fromStart(TTFT, func(s sample) int64 { return s.firstEarlyNS })
}

func boundedTTFO() func(openai.Origin) bounded {
	return fromStart(ttfo, func(s sample) int64 { return s.visibleEarlyNS })
}

func boundedE2E() func(openai.Origin) bounded {
	return fromStart(E2E, func(s sample) int64 { return s.lastEarlyNS })
}

func boundedTPOT() bounded {
	shifted := func(by func(sample) int64) Quantity {
		return func(s sample) int64 {
			if s.tpotNS == absent {
				return absent
			}
			return max(0, s.tpotNS+by(s))
		}
	}
	low := shifted(func(s sample) int64 { return -perToken(s, s.lastEarlyNS) })
	return bounded{value: tpot, low: low, read: low, high: shifted(func(s sample) int64 { return perToken(s, s.firstEarlyNS) })}
}

// perToken divides a time by the tokens that TPOT counts.
func perToken(s sample, ns int64) int64 {
	if ns == 0 || s.tpotNS <= 0 || s.lastNS <= s.firstNS {
		return ns
	}
	return int64(math.Ceil(float64(ns) * float64(s.tpotNS) / float64(s.lastNS-s.firstNS)))
}

// describe returns the distribution of a quantity with its bounds; nil if no request has it.
func (l samples) describe(of bounded) *Distribution {
	d := l.distribution(of.value, 1e9)
	if d != nil && l.unbounded() == 0 {
		d.setBounds(l.distribution(of.low, 1e9), l.distribution(of.high, 1e9))
	}
	return d
}

// unbounded counts the requests that ended ok without a stamp of their write.
func (l samples) unbounded() int {
	n := 0
	for s := range l.all() {
		if s.ok && s.leavingNS == absent {
			n++
		}
	}
	return n
}

// forgetBounds removes the bounds: without stamps of arrivals, only a part of the doubt is known.
func (l *Latency) forgetBounds() {
	for _, c := range []*Clocks{l.TTFT, l.TTFO, l.E2E, l.TPOT, l.ITL} {
		for _, d := range []*Distribution{c.send(), c.intended()} {
			if d != nil {
				d.Bounds = nil
			}
		}
	}
	if l.ChunkGap != nil && l.ChunkGap.Send != nil {
		l.ChunkGap.Send.Bounds = nil
	}
}

func (c *Clocks) send() *Distribution {
	if c == nil {
		return nil
	}
	return c.Send
}

func (c *Clocks) intended() *Distribution {
	if c == nil {
		return nil
	}
	return c.Intended
}

// boundedPool is a pool with the lowest and the highest values of its figures. Until the first value is in doubt, it
// keeps one pool.
type boundedPool struct {
	pool
	low, high *pool
}

// add adds a gap. One that was not observed is in the bounds only.
func (p *boundedPool) addGap(g openai.Gap) {
	if p.low == nil && (g.Value != g.Low || g.Value != g.High) {
		p.low, p.high = new(pool), new(pool)
		p.low.merge(&p.pool)
		p.high.merge(&p.pool)
	}
	if g.Value >= 0 {
		p.add(g.Value.Nanoseconds(), int64(g.Tokens))
	}
	if p.low != nil {
		p.low.add(g.Low.Nanoseconds(), int64(g.Tokens))
		p.high.add(g.High.Nanoseconds(), int64(g.Tokens))
	}
}

func (p *boundedPool) join(o *boundedPool) {
	if o.low != nil && p.low == nil {
		p.low, p.high = new(pool), new(pool)
		p.low.merge(&p.pool)
		p.high.merge(&p.pool)
	}
	if p.low != nil {
		low, high := o.low, o.high
		if low == nil {
			low, high = &o.pool, &o.pool
		}
		p.low.merge(low)
		p.high.merge(high)
	}
	p.merge(&o.pool)
}

func (p *boundedPool) describe() *Distribution {
	d := p.distribution()
	switch {
	case d == nil:
	case p.low == nil:
		d.setBounds(d, d)
	default:
		d.setBounds(p.low.distribution(), p.high.distribution())
	}
	return d
}

// doubtRatio is the share of a percentile that it may be off by in a valid run, if the limit of the rule is lower.
const doubtRatio = 0.02

// timingDoubt is a percentile of a latency that the client puts in doubt.
type timingDoubt struct {
	name       string // of the latency and the percentile
	value, off float64
	byReads    float64 // of off, what arrivals alone cause
	judged     bool    // false for a caveat whatever it is
}

// of returns the largest doubt of a run in multiples of what a limit allows.
func (d timingDoubt) of(limit float64) float64 { return d.off / max(limit, doubtRatio*d.value) }

func (d timingDoubt) String() string {
	return fmt.Sprintf("%s, %s, may be off by up to %s (%s)", d.name, format.Seconds(d.value), format.Seconds(d.off), format.Ratio(d.off/d.value))
}

// doubts returns how far each percentile of the latencies may be off. In a closed loop the intended start is the moment
// at which the slot became free: nothing was late for a schedule, so latencies from there are not judged.
func (in inputs) doubts(total *aggregate) []timingDoubt {
	if in.Tool != nil {
		return nil
	}
	scheduled := slices.ContainsFunc(in.measured(), func(p rundir.Span) bool { return slices.Contains(in.Open, p.Name) })
	var all []timingDoubt
	add := func(name string, d *Distribution, read func() *Distribution, judged bool) {
		if d == nil {
			return
		}
		var reads []percentile
		for i, of := range d.percentiles() {
			off, known := d.off(of)
			if !known || off == 0 {
				continue
			}
			one := timingDoubt{name: name + " " + of.name, value: *of.value, off: off, byReads: off, judged: judged}
			if read != nil {
				if reads == nil {
					reads = read().percentiles()
				}
				one.byReads = *of.value - *reads[i].value
			}
			all = append(all, one)
		}
	}
	latency := total.latency()
	both := func(name string, c *Clocks, of func(openai.Origin) bounded) {
		if c == nil {
			return
		}
		add(name+" from send", c.Send, func() *Distribution { return total.sent.distribution(of(openai.FromSend).read, 1e9) }, true)
		add(name+" from the intended start", c.Intended, func() *Distribution { return total.sent.distribution(of(openai.FromIntended).read, 1e9) }, scheduled)
	}
	both("time to first token", latency.TTFT, boundedTTFT())
	both("time to first visible output", latency.TTFO, boundedTTFO())
	both("request duration", latency.E2E, boundedE2E())
	if latency.TPOT != nil {
		add("time per output token", latency.TPOT.Send, nil, true)
	}
	if latency.ITL != nil {
		add("inter-token latency", latency.ITL.Send, nil, true)
	}
	if latency.ChunkGap != nil {
		add("chunk gap", latency.ChunkGap.Send, nil, true)
	}
	return all
}

// worst returns the largest of those doubts that a rule is about, by its limit; nil without any.
func worst(all []timingDoubt, limit float64, about func(timingDoubt) bool) *timingDoubt {
	var most *timingDoubt
	for i := range all {
		if about(all[i]) && (most == nil || all[i].of(limit) > most.of(limit)) {
			most = &all[i]
		}
	}
	return most
}

// lateSends are doubts that come more from sends than from reads.
func lateSends(d timingDoubt) bool { return d.judged && d.byReads < d.off/2 }

func lateReads(d timingDoubt) bool { return d.judged && d.byReads >= d.off/2 }

// caveatShare is the share of the limit from which on a doubt is a caveat.
const caveatShare = 0.25

// doubtCaveats returns the caveats about how far latencies may be off.
func (in inputs) doubtCaveats(total *aggregate, all []timingDoubt) []string {
	if in.Tool != nil || !in.Client.Watched || total.requests[openai.StatusOK] == 0 {
		return nil
	}
	var w []string
	switch missing := total.sent.unbounded(); {
	case !in.Client.StampedArrivals:
		w = append(w, "how far latencies may be off is not known: the run has no stamps of arrivals by the kernel, as on unix sockets and on systems other than Linux")
	case missing > 0:
		w = append(w, fmt.Sprintf("how far latencies may be off is not known: %d requests have no moment of their write", missing))
	}
	limit := ruleOf(CodeClientLag).Limit
	if most := worst(all, limit, func(d timingDoubt) bool { return d.judged }); most != nil && most.of(limit) > caveatShare && most.of(limit) <= 1 {
		w = append(w, fmt.Sprintf("%s, because of the client: less than what makes a run invalid", most))
	}
	if most := worst(all, limit, func(d timingDoubt) bool { return !d.judged }); most != nil && most.of(limit) > 1 {
		w = append(w, fmt.Sprintf("%s: the client sent late, which moves no latency from send", most))
	}
	if in.Client.CPURatio > clientBusy {
		w = append(w, fmt.Sprintf("the client used %s of its cores%s", format.Ratio(in.Client.CPURatio), relief))
	}
	return w
}
