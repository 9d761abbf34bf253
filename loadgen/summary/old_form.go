package summary

import (
	"encoding/json"
	"slices"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
)

// UnmarshalJSON reads a summary of Schema, or one of SchemaBefore, whose names it replaces by those of Schema.
func (s *Summary) UnmarshalJSON(text []byte) error {
	type plain Summary
	if err := json.Unmarshal(text, (*plain)(s)); err != nil || s.Schema != SchemaBefore {
		return err
	}
	type member struct {
		Memory map[string]json.RawMessage `json:"memory"`
	}
	var old struct {
		member
		Machines []member `json:"machines"`
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	if err := s.Memory.readBefore(old.Memory, s.KV); err != nil {
		return err
	}
	for i, machine := range old.Machines {
		if err := s.Machines[i].Memory.readBefore(machine.Memory, s.Machines[i].KV); err != nil {
			return err
		}
	}
	s.Schema = Schema
	return nil
}

// readBefore reads the members that have other names in Schema, and adds those that follow from others: the lines of
// the ledger add up to the pool; without a ledger the pool is the sum of the three parts when the engine is ready.
func (m *Memory) readBefore(old map[string]json.RawMessage, kv *KV) error {
	if m == nil {
		return nil
	}
	renamed := map[string]json.RawMessage{}
	for _, field := range metric.RenamedFields() {
		if value, there := old[field.Old]; there {
			renamed[field.New] = value
		}
	}
	text, err := json.Marshal(renamed)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, m); err != nil {
		return err
	}
	pool := poolOf(m.LedgerAt)
	if free := m.FreeWhenReady(); pool == nil && free != nil && m.OccupiedWithoutKV != nil && kv != nil && kv.CapacityBytes != nil {
		sum := *m.OccupiedWithoutKV + *kv.CapacityBytes + *free // occupied without KV cache is the pool minus the other two
		pool = &sum
	}
	m.setPool(pool)
	return nil
}

// setPool sets the pool and the figures computed from it and from those of SchemaBefore.
func (m *Memory) setPool(pool *float64) {
	m.Pool, m.AvailableMin, m.OccupiedPeak = pool, less(pool, m.UnavailablePeak), less(pool, m.CUDAFreeMin)
}

// readPools reads pools that a summary of SchemaBefore does not have from the telemetry of its run. Without
// readable telemetry they stay unknown; that is not an error.
func (r *Run) readPools() {
	memories := []*Memory{r.Summary.Memory}
	for _, machine := range r.Summary.Machines {
		memories = append(memories, machine.Memory)
	}
	memories = slices.DeleteFunc(memories, func(m *Memory) bool { return m == nil || m.Pool != nil })
	if len(memories) == 0 {
		return
	}
	log, err := r.Telemetry()
	if err != nil || log == nil {
		return
	}
	for _, m := range memories {
		if source := log.Source(m.Source); source != nil {
			m.setPool((&reading{source: source}).pool())
		}
	}
}

// poolOf returns the sum of the lines at the first moment that has all; nil without one. The line unattributed is the
// last that a series limit drops.
func poolOf(at *Ledgers) *float64 {
	if at == nil {
		return nil
	}
	for _, lines := range []ledger.Ledger{at.Ready, at.Peak, at.Start} {
		if lines.Whole() {
			return new(lines.Sum())
		}
	}
	return nil
}

// less returns a part of the pool minus another; nil if one of them is unknown.
func less(pool, part *float64) *float64 {
	if pool == nil || part == nil {
		return nil
	}
	rest := *pool - *part
	return &rest
}
