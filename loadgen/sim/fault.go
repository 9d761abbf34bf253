package sim

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"
)

// FaultKind is one kind of fault of a single request.
type FaultKind string

// The kinds. Those in the middle of an answer need a stream; an answer in one piece is refused, cut or delayed instead.
const (
	FaultRefuse     FaultKind = "refuse"      // status 500 before any output
	FaultErrorEvent FaultKind = "error_event" // an error in a stream that began with status 200
	FaultTruncate   FaultKind = "truncate"    // the stream ends normally, but without its final events
	FaultCut        FaultKind = "cut"         // the connection breaks
	FaultStall      FaultKind = "stall"       // the stream pauses for a while, or forever
	FaultDropModel  FaultKind = "drop_model"  // the model disappears; the request itself is answered
)

// FaultKinds returns all kinds.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultRefuse, FaultErrorEvent, FaultTruncate, FaultCut, FaultStall, FaultDropModel}
}

// Fault is a fault of some requests.
type Fault struct {
	Kind FaultKind
	// Ratio is the share of affected requests, drawn by the seed and the number of the request; Numbers are requests
	// that are always affected, from 1 in the order of arrival.
	Ratio   float64
	Numbers []uint64
	// AfterTokens is how many tokens come before a fault in the middle of an answer.
	AfterTokens int
	// For is how long a stall lasts, or with 0 until the client disconnects.
	For time.Duration
}

// Faults is all simulated faults.
type Faults struct {
	// WrongKV makes blocks that come back from the disk hold other content than was stored, while all counters report a
	// hit (ai-dynamo/dynamo#15079). The answers are wrong from their first token.
	WrongKV bool
	Drift   Drift
	// ModelGone removes the model from the list and refuses requests for it, as when the last worker of Dynamo has
	// gone.
	ModelGone bool
	// Requests are faults of single requests; if several apply to one, the first counts.
	Requests []Fault
}

// Drift is the effect of rounding: other sequences in the batch change the order of the sums, which now and then makes
// another token the likeliest. From there on the answer differs.
type Drift struct {
	// Ratio is the share of answers that differ. The same prompt in a batch of the same size differs
	// in the same way.
	Ratio float64
	// Alone makes the answers of sequences that run alone differ too, each time anew.
	Alone bool
	// FromToken is the first token that may differ.
	FromToken int
}

func (f Faults) check(refuse func(field string, value any, why string)) {
	ratio := func(name string, value float64) {
		if !(value >= 0 && value <= 1) {
			refuse(name, value, "must be from 0 to 1")
		}
	}
	ratio("Faults.Drift.Ratio", f.Drift.Ratio)
	if f.Drift.FromToken < 0 {
		refuse("Faults.Drift.FromToken", f.Drift.FromToken, "must not be negative")
	}
	for _, fault := range f.Requests {
		ratio("Fault.Ratio", fault.Ratio)
		if !slices.Contains(FaultKinds(), fault.Kind) {
			refuse("Fault.Kind", fault.Kind, "is no kind of fault")
		}
		if fault.AfterTokens < 0 || fault.For < 0 {
			refuse("Fault", fault.Kind, "has a negative figure")
		}
	}
}

// of returns the fault of the request with that number; its kind is "" for none.
func (f Faults) of(seed, number uint64) Fault {
	for i, fault := range f.Requests {
		if slices.Contains(fault.Numbers, number) || chance(seed, number, uint64(i)) < fault.Ratio {
			return fault
		}
	}
	return Fault{}
}

// twist returns the divergence of the answer of a sequence that enters a batch of so many.
func (f Faults) twist(seed uint64, s *sequence, number uint64, running int) twist {
	if f.WrongKV && s.hits.FromDisk > 0 {
		return twist{at: 0, key: mixed(seed, s.text.keys[s.hits.blocks()-1], uint64(s.hits.FromDisk))}
	}
	circumstances := uint64(running)
	if running == 1 {
		if !f.Drift.Alone {
			return straight()
		}
		circumstances = number << 16
	}
	if chance(seed, s.text.hash, circumstances) >= f.Drift.Ratio {
		return straight()
	}
	span := max(1, s.answer.tokens()-f.Drift.FromToken)
	where := mixed(seed, s.text.hash, ^circumstances)
	return twist{at: f.Drift.FromToken + int(where%uint64(span)), key: where}
}

// chance returns a number from 0 to below 1 that depends on the arguments only.
func chance(seed, a, b uint64) float64 { return float64(mixed(seed, a, b)>>11) / (1 << 53) }

// mixed returns a hash of three numbers.
func mixed(a, b, c uint64) uint64 {
	var bytes [24]byte
	binary.LittleEndian.PutUint64(bytes[0:], a)
	binary.LittleEndian.PutUint64(bytes[8:], b)
	binary.LittleEndian.PutUint64(bytes[16:], c)
	h := fnv.New64a()
	h.Write(bytes[:])
	// FNV mixes the high bits of short inputs poorly: finish as splitmix64 does.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// SetFaults changes the faults from now on. Requests in progress keep theirs.
func (e *Engine) SetFaults(faults Faults) error {
	c := e.config
	c.Faults = faults
	if err := c.check(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = faults
	return nil
}

// fault returns the fault of a request.
func (e *Engine) fault(number uint64) Fault {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.faults.of(e.config.Seed, number)
}

// dropModel removes the model until SetFaults brings it back.
func (e *Engine) dropModel() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults.ModelGone = true
}
