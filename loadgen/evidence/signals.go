package evidence

// Signals say what the run proves about KV tiers and outputs.
type Signals struct {
	SSDOffload   Signal `json:"ssd_offload"`
	SSDRehydrate Signal `json:"ssd_rehydrate"`
	Reuse        Signal `json:"reuse"`
	OutputMatch  Signal `json:"output_match"`
}

// Named lists them with their names, in the order in which they are shown.
func (s Signals) Named() []NamedSignal {
	return []NamedSignal{
		{"ssd_offload", "KV blocks were written to the SSD", s.SSDOffload},
		{"ssd_rehydrate", "KV blocks came back from the SSD", s.SSDRehydrate},
		{"reuse", "prompts were answered from a cache", s.Reuse},
		{"output_match", "answers from the cache are those that were computed", s.OutputMatch},
	}
}

// NamedSignal is a signal with its name in summary.json, and what it says if it is proven.
type NamedSignal struct {
	Name, Says string
	Signal
}

// Asked reports whether a signal was looked for.
func (s Signals) Asked() bool {
	for _, signal := range s.Named() {
		if signal.Grade != NotObservable || len(signal.Witnesses) > 0 {
			return true
		}
	}
	return false
}
