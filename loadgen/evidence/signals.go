package evidence

// Signals are the evidence of the run about KV tiers and outputs.
type Signals struct {
	SSDOffload   Signal `json:"ssd_offload"`
	SSDRehydrate Signal `json:"ssd_rehydrate"`
	Reuse        Signal `json:"reuse"`
	OutputMatch  Signal `json:"output_match"`
	// Worth is the time and the writes that reuse cost; absent where no prompt was sent again.
	Worth *Worth `json:"worth,omitempty"`
}

// Named lists the signals with their names, in the order of display.
func (s Signals) Named() []NamedSignal {
	return []NamedSignal{
		{"ssd_offload", "KV blocks were written to the SSD", s.SSDOffload},
		{"ssd_rehydrate", "KV blocks came back from the SSD", s.SSDRehydrate},
		{"reuse", "prompts were answered from a cache", s.Reuse},
		{"output_match", "answers from the cache are those that were computed", s.OutputMatch},
	}
}

// NamedSignal is a signal with its name in summary.json, and its statement in words.
type NamedSignal struct {
	Name, Statement string
	Signal
}

// Asked reports whether any signal was requested: it is observable, or has figures.
func (s Signals) Asked() bool {
	for _, signal := range s.Named() {
		if signal.Grade != NotObservable || len(signal.Figures) > 0 {
			return true
		}
	}
	return false
}
