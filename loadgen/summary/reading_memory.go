package summary

import (
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
)

func (r *reading) memory() *Memory {
	m := Memory{Origin: r.Origin, OccupiedWithoutKV: r.occupiedWithoutKV(), FreeAtKVSizing: r.freeAtKVSizing()}
	peakNS := int64(-1)
	r.over(func(ns int64) {
		pool, known := r.total(metric.MemoryPoolBytes, ns)
		if available, ok := r.total(metric.MemoryAvailableBytes, ns); ok && known {
			keepIf(&m.AvailableMin, available, -1)
			if keepIf(&m.UnavailablePeak, pool-available, 1) {
				peakNS = ns
			}
		}
		if free, ok := r.ledger(ns).Free(); ok && known {
			keepIf(&m.OccupiedPeak, pool-free, 1)
		}
		if free, ok := r.total(metric.MemoryCUDAFreeBytes, ns); ok {
			keepIf(&m.CUDAFreeMin, free, -1)
		}
	})
	m.GPUHeldPeak = r.heldPeak()
	m.LedgerAt = r.ledgerAt(peakNS)
	if m == (Memory{Origin: r.Origin}) {
		return nil
	}
	m.Pool = r.pool()
	return &m
}

// pool returns the first sample of the pool; nil without one.
func (r *reading) pool() *float64 {
	for _, ns := range r.source.Samples {
		if pool, ok := r.total(metric.MemoryPoolBytes, ns); ok {
			return &pool
		}
	}
	return nil
}

// ledgerAt reads the ledger at its three moments.
func (r *reading) ledgerAt(peakNS int64) *Ledgers {
	var at Ledgers
	if phase, known := r.startPhase(); known {
		at.Start = r.ledgerAtStartOf(phase)
	}
	if ns, ok := r.readyNS(); ok {
		at.Ready = r.ledger(ns)
	}
	if peakNS >= 0 {
		at.Peak = r.ledger(peakNS)
	}
	if at.Start == nil && at.Ready == nil && at.Peak == nil {
		return nil
	}
	return &at
}

// startPhase returns the phase at whose beginning the engine is started, if the run began that early. An earlier
// cool-down phase does not count: the memory at its beginning is not what the engine started with.
func (r *reading) startPhase() (string, bool) {
	for _, phase := range r.log.Phases {
		if !starting(phase.Name) {
			return "", false
		}
		if phase.Name != metric.PhaseCooldown {
			return phase.Name, true
		}
	}
	return "", false
}

// readyNS returns the moment at which the engine was ready and before the first request: the start of the first phase
// after the engine's start. Where the start of an engine cannot be separated from its work, as in a recorded command
// whose log is not understood, there is no such moment.
func (r *reading) readyNS() (int64, bool) {
	for i, phase := range r.log.Phases {
		if starting(phase.Name) || phase.Name == phaseReady {
			continue
		}
		if i > 0 && r.log.Phases[i-1].Name == metric.PhaseBefore {
			return 0, false
		}
		return r.startOf(phase.Name)
	}
	return 0, false
}

// phaseReady is the phase in which the engine is ready and gets no requests; its end is the moment that counts.
const phaseReady = "ready"

// starting reports whether the engine is still starting in a phase.
func starting(phase string) bool {
	return phase == metric.PhaseBefore || phase == metric.PhaseCooldown || phase == metric.PhaseStart || phase == metric.PhaseLoad
}

func (r *reading) ledgerAtStartOf(phase string) ledger.Ledger {
	ns, ok := r.startOf(phase)
	if !ok {
		return nil
	}
	return r.ledger(ns)
}

// startOf returns the time of the first sample of the source in a phase.
func (r *reading) startOf(phase string) (int64, bool) {
	windows := r.log.Windows(r.source, phase)
	if len(windows) == 0 {
		return 0, false
	}
	return windows[0].FromNS, true
}

// ledgerLine returns a line of the ledger at a moment; absent where it is unknown.
func (r *reading) ledgerLine(line string, ns int64) (float64, bool) {
	for _, series := range r.source.Find(metric.MemoryLedgerBytes) {
		if series.Labels[string(metric.LabelLine)] == line {
			return series.At(ns)
		}
	}
	return 0, false
}

func (r *reading) ledger(ns int64) ledger.Ledger {
	var lines ledger.Ledger
	for _, series := range r.source.Find(metric.MemoryLedgerBytes) {
		if v, ok := series.At(ns); ok {
			if lines == nil {
				lines = ledger.Ledger{}
			}
			lines[series.Labels[string(metric.LabelLine)]] = v
		}
	}
	return lines
}
