package evidence

import (
	"cmp"
	"slices"
)

// Worth is what reuse gained and cost. Figures that are not known are absent.
type Worth struct {
	// PromptTokens are the prompt tokens that were sent again, CachedTokens those that came from a cache, and SSDTokens
	// those from the disk tier.
	PromptTokens *float64 `json:"prompt_tokens,omitempty"`
	CachedTokens *float64 `json:"cached_tokens,omitempty"`
	SSDTokens    *float64 `json:"ssd_tokens,omitempty"`
	// ComputedSeconds and ReusedSeconds are the median times to the first token of the same prompts, computed and reused;
	// TimeRatio is the second by the first.
	ComputedSeconds *float64 `json:"computed_ttft_seconds,omitempty"`
	ReusedSeconds   *float64 `json:"reused_ttft_seconds,omitempty"`
	TimeRatio       *float64 `json:"time_ratio,omitempty"`
	// BreakEven compares the times by the length of the prompt.
	BreakEven *BreakEven `json:"break_even,omitempty"`
	// WrittenBytes and ReadBytes are what the disk tier wrote and read in the scenario.
	WrittenBytes *float64 `json:"written_bytes,omitempty"`
	ReadBytes    *float64 `json:"read_bytes,omitempty"`
	// WrittenPerReadByte and WrittenPerTokenBytes are the price: bytes written for each byte that was read back, and for
	// each token from the SSD.
	WrittenPerReadByte   *float64 `json:"written_per_read_byte,omitempty"`
	WrittenPerTokenBytes *float64 `json:"written_per_ssd_token_bytes,omitempty"`
	// EngineWrittenBlocks and EngineReadBlocks are KVBM's counters at the end, since the engine started; EngineRatio is the
	// first by the second.
	EngineWrittenBlocks *float64 `json:"engine_written_blocks,omitempty"`
	EngineReadBlocks    *float64 `json:"engine_read_blocks,omitempty"`
	EngineRatio         *float64 `json:"engine_written_per_read_block,omitempty"`
	// EnduranceShare is the share of the drive's rated endurance that a day at the scenario's rate of writing takes.
	EnduranceShare *float64 `json:"endurance_share_per_day,omitempty"`
}

// Pair is a prompt that was sent twice: its tokens, and the times to the first token of both.
type Pair struct{ Tokens, ComputedSeconds, ReusedSeconds float64 }

// BreakEven is the length of a prompt from which reuse takes less time than computing, within the lengths of the run.
type BreakEven struct {
	Outcome BreakEvenOutcome `json:"outcome" pack:"word"`
	// Tokens is the length at which both take as long; absent where they do not within the run.
	Tokens *float64 `json:"tokens,omitempty"`
	// LeastTokens and MostTokens are the lengths of the run.
	LeastTokens float64 `json:"least_prompt_tokens"`
	MostTokens  float64 `json:"most_prompt_tokens"`
}

// BreakEvenOutcome is which of both is faster, and where.
type BreakEvenOutcome string

// The outcomes. A prompt is shorter or longer than the break-even length.
const (
	TooFewLengths BreakEvenOutcome = "too_few_lengths"
	AlwaysFaster  BreakEvenOutcome = "reuse_faster"
	AlwaysSlower  BreakEvenOutcome = "reuse_slower"
	FasterAbove   BreakEvenOutcome = "reuse_faster_above"
	FasterBelow   BreakEvenOutcome = "reuse_faster_below"
)

const (
	// spreadRatio is the least ratio of the longest prompt to the shortest for lengths to be compared, leastPairs the least
	// number of prompts.
	spreadRatio = 1.5
	leastPairs  = 4
)

// FindBreakEven fits a line to the differences of both times by the length of the prompt, and finds where it is 0. It
// returns nil without any pair.
func FindBreakEven(pairs []Pair) *BreakEven {
	if len(pairs) == 0 {
		return nil
	}
	byTokens := func(a, b Pair) int { return cmp.Compare(a.Tokens, b.Tokens) }
	found := &BreakEven{Outcome: TooFewLengths, LeastTokens: slices.MinFunc(pairs, byTokens).Tokens, MostTokens: slices.MaxFunc(pairs, byTokens).Tokens}
	if len(pairs) < leastPairs || found.LeastTokens <= 0 || found.MostTokens < spreadRatio*found.LeastTokens {
		return found
	}
	offset, slope := fitDifference(pairs)
	least, most := offset+slope*found.LeastTokens, offset+slope*found.MostTokens
	switch {
	case least <= 0 && most <= 0:
		found.Outcome = AlwaysFaster
		return found
	case least >= 0 && most >= 0:
		found.Outcome = AlwaysSlower
		return found
	case most < 0:
		found.Outcome = FasterAbove
	default:
		found.Outcome = FasterBelow
	}
	found.Tokens = new(min(max(-offset/slope, found.LeastTokens), found.MostTokens))
	return found
}

// fitDifference returns the line of least squares through reused minus computed time, by tokens.
func fitDifference(pairs []Pair) (offset, slope float64) {
	n := float64(len(pairs))
	var x, y float64
	for _, p := range pairs {
		x, y = x+p.Tokens/n, y+(p.ReusedSeconds-p.ComputedSeconds)/n
	}
	var xx, xy float64
	for _, p := range pairs {
		dx := p.Tokens - x
		xx, xy = xx+dx*dx, xy+dx*(p.ReusedSeconds-p.ComputedSeconds-y)
	}
	if xx > 0 {
		slope = xy / xx
	}
	return y - slope*x, slope
}

// Spent has the inputs of Worth.
type Spent struct {
	Reused Reused
	Pairs  []Pair
	// ComputedSeconds and ReusedSeconds are medians; 0 if unknown.
	ComputedSeconds, ReusedSeconds float64
	// Replayed are KVBM's blocks of the replay, Whole those of the scenario, and Lifetime its counters at the end.
	Replayed, Whole, Lifetime Moved
	// Seconds is the duration of the scenario's phases, EnduranceBytes the drive's rated endurance; 0 if unknown.
	Seconds, EnduranceBytes float64
}

// NewWorth returns the figures; nil where no prompt was sent again.
func NewWorth(s Spent) *Worth {
	if s.Reused.Requests == 0 {
		return nil
	}
	w := &Worth{PromptTokens: above(s.Reused.PromptTokens), CachedTokens: s.cachedTokens(), SSDTokens: s.ssdTokens(), BreakEven: FindBreakEven(s.Pairs)}
	w.ComputedSeconds, w.ReusedSeconds = above(s.ComputedSeconds), above(s.ReusedSeconds)
	w.TimeRatio = ratio(w.ReusedSeconds, w.ComputedSeconds)
	w.WrittenBytes, w.ReadBytes = s.Whole.bytes(s.Whole.ToDisk), s.Whole.bytes(s.Whole.FromDisk)
	w.WrittenPerReadByte, w.WrittenPerTokenBytes = ratio(w.WrittenBytes, w.ReadBytes), ratio(w.WrittenBytes, w.SSDTokens)
	if w.WrittenPerReadByte == nil && s.Whole.usable() {
		w.WrittenPerReadByte = ratio(above(s.Whole.ToDisk.Value), above(s.Whole.FromDisk.Value)) // blocks have one size
	}
	if s.Lifetime.usable() {
		w.EngineWrittenBlocks, w.EngineReadBlocks = above(s.Lifetime.ToDisk.Value), above(s.Lifetime.FromDisk.Value)
		w.EngineRatio = ratio(w.EngineWrittenBlocks, w.EngineReadBlocks)
	}
	if w.WrittenBytes != nil && s.Seconds > 0 && s.EnduranceBytes > 0 {
		w.EnduranceShare = new(*w.WrittenBytes / s.Seconds * secondsPerDay / s.EnduranceBytes)
	}
	return w
}

const secondsPerDay = 86400

// cachedTokens are the tokens of the answers, or of the engine's counters.
func (s Spent) cachedTokens() *float64 {
	switch {
	case s.Reused.Cached.Known:
		return &s.Reused.Cached.Value
	case s.Reused.Engine.known():
		return &s.Reused.Engine.Found.Value
	}
	return nil
}

// ssdTokens are the tokens that the engine found in its disk tier, or those that KVBM matched if all of the blocks that
// came back were read from the disk.
func (s Spent) ssdTokens() *float64 {
	kv := s.Replayed
	switch {
	case s.Reused.Engine.Disk.Known && !s.Reused.Engine.Disk.Reset:
		return above(s.Reused.Engine.Disk.Value)
	case kv.usable() && kv.MatchedTokens.Known && kv.FromDisk.Value > 0 && kv.FromHost.Value == 0:
		return above(kv.MatchedTokens.Value)
	}
	return nil
}

func (kv Moved) usable() bool { return kv.Seen && !kv.Gone && !kv.FromDisk.Reset }

func (kv Moved) bytes(blocks Count) *float64 {
	if !kv.usable() || !blocks.Known {
		return nil
	}
	return above(blocks.Value * kv.BlockBytes)
}

// above returns a value above 0, or nil.
func above(value float64) *float64 {
	if value > 0 {
		return &value
	}
	return nil
}

func ratio(of, to *float64) *float64 {
	if of == nil || to == nil {
		return nil
	}
	return new(*of / *to)
}
