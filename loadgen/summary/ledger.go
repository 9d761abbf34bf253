package summary

// Ledger has bytes by line of the memory ledger at three moments of a run: before the engine started, when it was ready,
// and when least memory was available; nil where it was not observed.
type Ledger struct {
	Start map[string]float64 `json:"start,omitempty"`
	Ready map[string]float64 `json:"ready,omitempty"`
	Peak  map[string]float64 `json:"peak,omitempty"`
}

// Empty reports whether nothing was observed at any moment.
func (l Ledger) Empty() bool { return len(l.Start)+len(l.Ready)+len(l.Peak) == 0 }

// Moments returns the lines at the three moments, in order.
func (l *Ledger) Moments() [3]*map[string]float64 {
	return [...]*map[string]float64{&l.Start, &l.Ready, &l.Peak}
}
