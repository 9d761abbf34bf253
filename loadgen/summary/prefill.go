package summary

import (
	"cmp"
	"slices"
	"sort"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/roofline"
)

// Prefill is what prompts of other requests cost the sequences that decode: an engine reads them between two steps of
// decoding, or in the same step. A prompt is taken to be read from the dispatch of its request to its first token.
type Prefill struct {
	// Share is the part of the time of decoding in which a prompt was read, weighed by the sequences that decode.
	Share float64 `json:"share"`
	// Lost is the part of the time of decoding by which tokens took longer then. They are compared with tokens without a
	// prompt under way, of at least as many sequences at a time; absent where there are too few of those. So a request that
	// waits in a queue counts as a prompt, but costs nothing.
	Lost *float64 `json:"lost_share,omitempty"`
	// Without is decoding while no prompt is read.
	Without *Undisturbed `json:"without,omitempty"`
}

// Undisturbed is decoding in steps that are nothing else.
type Undisturbed struct {
	TokensPerSecond float64         `json:"tokens_per_second"`
	Concurrency     float64         `json:"concurrency"`
	Share           *roofline.Range `json:"share_of_limit,omitempty"`
}

// mostArrivals is the number of arrivals that are kept; of a longer run those of one request in k are.
const mostArrivals = 1 << 20

// streams has the arrivals of answers.
type streams struct {
	every, seen, arrivals int
	kept                  []stream
}

// stream is one answer: its arrivals as a record has them, and the tokens of each.
type stream struct {
	arrivalsNS []int64
	tokens     float64
}

func (s *streams) add(r openai.Record) {
	if r.Status != openai.StatusOK || len(r.ArrivalsNS) < 2 {
		return
	}
	s.every = max(1, s.every)
	if s.seen++; (s.seen-1)%s.every != 0 {
		return
	}
	tokens := 1.0
	if r.TokensOut != nil && *r.TokensOut > 0 {
		tokens = float64(*r.TokensOut) / float64(len(r.ArrivalsNS))
	}
	s.kept = append(s.kept, stream{r.ArrivalsNS, tokens})
	if s.arrivals += len(r.ArrivalsNS); s.arrivals > mostArrivals {
		s.thin()
	}
}

// thin keeps every other answer.
func (s *streams) thin() {
	half := s.kept[:0]
	s.arrivals = 0
	for i := 0; i < len(s.kept); i += 2 {
		half = append(half, s.kept[i])
		s.arrivals += len(s.kept[i].arrivalsNS)
	}
	clear(s.kept[len(half):])
	s.kept, s.every = half, 2*s.every
}

// span is a stretch of time.
type span struct{ fromNS, toNS int64 }

// load is when requests were doing what, of all phases.
type load struct {
	prompts      []span  // in which a prompt was read; ascending and apart once it is sorted
	begins, ends []int64 // of decoding
}

// add adds a request that was sent. One that was given up before its first token had its prompt read until then; one that
// was refused had none.
func (l *load) add(r openai.Record) {
	switch {
	case r.FirstTokenNS != nil:
		l.prompts = append(l.prompts, span{*r.DispatchNS, *r.FirstTokenNS})
		l.begins, l.ends = append(l.begins, *r.FirstTokenNS), append(l.ends, lastMoment(r))
	case r.Status == openai.StatusTimeout, r.Status == openai.StatusCancelled:
		l.prompts = append(l.prompts, span{*r.DispatchNS, lastMoment(r)})
	}
}

func (l *load) sort() {
	slices.Sort(l.begins)
	slices.Sort(l.ends)
	slices.SortFunc(l.prompts, func(a, b span) int { return cmp.Compare(a.fromNS, b.fromNS) })
	apart := l.prompts[:0]
	for _, s := range l.prompts {
		if last := len(apart) - 1; last >= 0 && s.fromNS <= apart[last].toNS {
			apart[last].toNS = max(apart[last].toNS, s.toNS)
		} else {
			apart = append(apart, s)
		}
	}
	l.prompts = apart
}

// reading returns for how much of a stretch a prompt was read.
func (l load) reading(of span) int64 {
	var ns int64
	first := sort.Search(len(l.prompts), func(i int) bool { return l.prompts[i].toNS > of.fromNS })
	for _, s := range l.prompts[first:] {
		if s.fromNS >= of.toNS {
			break
		}
		ns += min(s.toNS, of.toNS) - max(s.fromNS, of.fromNS)
	}
	return ns
}

// decoding returns how many sequences decode at a moment.
func (l load) decoding(ns int64) int {
	after := func(list []int64) int { return sort.Search(len(list), func(i int) bool { return list[i] > ns }) }
	return max(1, after(l.begins)-after(l.ends))
}

// step is the time between two arrivals of an answer.
type step struct {
	seconds, tokens float64
	together        int // sequences that decode
	reading         bool
}

// leastTokens is the number of tokens without a prompt under way that others are compared with at least.
const leastTokens = 50

// prefill judges the arrivals of the measured phases. It is nil without any.
func (p phaseAggregates) prefill() *Prefill {
	p.load.sort()
	var steps []step
	var all, reading float64
	for _, s := range p.streams.kept {
		at := s.arrivalsNS[0]
		for _, gap := range s.arrivalsNS[1:] {
			ns := p.load.reading(span{at, at + gap})
			steps = append(steps, step{seconds(gap), s.tokens, p.load.decoding(at), ns > 0})
			all, reading = all+seconds(gap), reading+seconds(ns)
			at += gap
		}
	}
	if all <= 0 {
		return nil
	}
	return &Prefill{Share: reading / all, Lost: lostTime(steps, all), Without: undisturbed(steps)}
}

// lostTime compares steps while a prompt is read with those of at least as many sequences while none is: more sequences do
// not make a step shorter.
func lostTime(steps []step, all float64) *float64 {
	most := 0
	for _, s := range steps {
		most = max(most, s.together)
	}
	// The time and tokens of undisturbed steps, of so many sequences and more.
	times, tokens := make([]float64, most+2), make([]float64, most+2)
	for _, s := range steps {
		if !s.reading {
			times[s.together] += s.seconds
			tokens[s.together] += s.tokens
		}
	}
	for n := most - 1; n >= 0; n-- {
		times[n], tokens[n] = times[n]+times[n+1], tokens[n]+tokens[n+1]
	}
	var lost, judged, unjudged float64
	for _, s := range steps {
		switch {
		case !s.reading:
		case tokens[s.together] < leastTokens:
			unjudged += s.seconds
		default:
			judged += s.seconds
			lost += s.seconds - s.tokens*times[s.together]/tokens[s.together]
		}
	}
	if unjudged > judged {
		return nil
	}
	return new(max(0, lost/all))
}

// undisturbed is the rate of all sequences together, of steps while no prompt is read. Each sequence has a step of its own:
// those of n sequences at once are that time n times.
func undisturbed(steps []step) *Undisturbed {
	var own, wall, tokens float64
	for _, s := range steps {
		if !s.reading {
			own, wall, tokens = own+s.seconds, wall+s.seconds/float64(s.together), tokens+s.tokens
		}
	}
	if tokens < leastTokens || wall <= 0 {
		return nil
	}
	return &Undisturbed{TokensPerSecond: tokens / wall, Concurrency: own / wall}
}
