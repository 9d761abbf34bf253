package summary

import (
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
)

// Ledgers has the ledger of a machine at three moments of a run: before the engine started, when it was ready, and when
// least memory was available; nil where it was not observed.
type Ledgers struct {
	Start ledger.Ledger `json:"start,omitempty"`
	Ready ledger.Ledger `json:"ready,omitempty"`
	Peak  ledger.Ledger `json:"peak,omitempty"`
}

// Empty reports whether nothing was observed at any moment.
func (l Ledgers) Empty() bool { return len(l.Start)+len(l.Ready)+len(l.Peak) == 0 }

// MomentLedger is the ledger at a moment, with the name that the moment has in the vocabulary.
type MomentLedger struct {
	Moment string
	*ledger.Ledger
}

// Moments returns the ledgers at the three moments, in order.
func (l *Ledgers) Moments() [3]MomentLedger {
	return [...]MomentLedger{{metric.MomentStart, &l.Start}, {metric.MomentReady, &l.Ready}, {metric.MomentPeak, &l.Peak}}
}

// Minus returns how much more each line has than in other ledgers at the same moment, of the lines that both have.
func (l Ledgers) Minus(other Ledgers) Ledgers {
	var difference Ledgers
	from, to := other.Moments(), difference.Moments()
	for i, at := range l.Moments() {
		*to[i].Ledger = at.Minus(*from[i].Ledger)
	}
	return difference
}
