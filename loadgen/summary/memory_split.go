package summary

import (
	"math"
	"slices"

	"github.com/umascope/umascope/exporter/ledger"
)

// MemorySplit is the pool at one moment in lines that add up to it, the largest first.
type MemorySplit struct {
	Moment string
	Lines  []ledger.Line
	// Partial is true if the pool is unknown: the size of the rest was not recorded.
	Partial bool
}

// Names of the lines of splits.
const (
	LineOccupiedWithoutKV = "occupied without KV cache"
	LineKVCache           = "KV cache"
	LineOccupied          = "occupied"
	LineFree              = "free"
	LineUnavailable       = "unavailable"
	LineAvailable         = "available"
	LineGPUHeld           = "GPU-held"
	LineNotGPUHeld        = "not GPU-held"
)

// Splits returns the memory at each moment that has figures, in the order of a run. KV is nil where its size is
// unknown. Where the pool is unknown, the splits have the lines that are recorded and are partial.
func (m *Memory) Splits(kv *KV) []MemorySplit {
	if m == nil {
		return nil
	}
	if m.Pool == nil {
		return m.partialSplits(kv)
	}
	var all []MemorySplit
	add := func(moment, name string, bytes *float64, rest string) {
		if bytes != nil {
			all = append(all, m.split(moment, rest, ledger.Line{Name: name, Bytes: *bytes}))
		}
	}
	add("KV cache sized", LineFree, m.FreeAtKVSizing, LineOccupied)
	if without := m.OccupiedWithoutKV; without != nil && kv != nil && kv.CapacityBytes != nil {
		all = append(all, m.split("engine ready", LineFree, ledger.Line{Name: LineOccupiedWithoutKV, Bytes: *without}, ledger.Line{Name: LineKVCache, Bytes: *kv.CapacityBytes}))
	} else {
		add("engine ready", LineFree, m.FreeWhenReady(), LineOccupied)
	}
	add("least available", LineUnavailable, m.UnavailablePeak, LineAvailable)
	add("least free", LineOccupied, m.OccupiedPeak, LineFree)
	if m.GPUHeldInPool() {
		add("most GPU-held", LineGPUHeld, m.GPUHeldPeak, LineNotGPUHeld)
	}
	return all
}

// split returns these lines and the rest of the pool.
func (m *Memory) split(moment, rest string, lines ...ledger.Line) MemorySplit {
	left := *m.Pool
	for _, line := range lines {
		left -= line.Bytes
	}
	lines = append(lines, ledger.Line{Name: rest, Bytes: left})
	return MemorySplit{Moment: moment, Lines: ledger.BySize(lines)}
}

// partialSplits returns the splits of an unknown pool.
func (m *Memory) partialSplits(kv *KV) []MemorySplit {
	var all []MemorySplit
	add := func(moment string, lines ...ledger.Line) {
		if len(lines) > 0 {
			all = append(all, MemorySplit{moment, ledger.BySize(lines), true})
		}
	}
	known := func(name string, bytes *float64) []ledger.Line {
		if bytes == nil {
			return nil
		}
		return []ledger.Line{{Name: name, Bytes: *bytes}}
	}
	add("KV cache sized", known(LineFree, m.FreeAtKVSizing)...)
	ready := slices.Concat(known(LineOccupiedWithoutKV, m.OccupiedWithoutKV), known(LineFree, m.FreeWhenReady()))
	if kv != nil && len(ready) > 0 {
		ready = append(ready, known(LineKVCache, kv.CapacityBytes)...)
	}
	add("engine ready", ready...)
	add("least available", slices.Concat(known(LineUnavailable, m.UnavailablePeak), known(LineAvailable, m.AvailableMin))...)
	add("least free", known(LineFree, m.CUDAFreeMin)...)
	if m.GPUHeldInPool() {
		add("most GPU-held", known(LineGPUHeld, m.GPUHeldPeak)...)
	}
	return all
}

// GPUHeldInPool reports whether GPU-held memory is part of the pool: it is a line of the ledger then.
func (m *Memory) GPUHeldInPool() bool {
	if m.LedgerAt == nil {
		return false
	}
	for _, at := range m.LedgerAt.Moments() {
		if _, there := (*at.Ledger)[ledger.GPUProcess]; there {
			return true
		}
	}
	return false
}

// FreeWhenReady returns the free memory when the engine was ready; nil where it is unknown.
func (m *Memory) FreeWhenReady() *float64 {
	if m.LedgerAt == nil {
		return nil
	}
	if bytes, known := m.LedgerAt.Ready.Free(); known {
		return &bytes
	}
	return nil
}

// LineNotRecorded is the line of the bytes whose ledger lines the telemetry did not keep.
const LineNotRecorded = "not recorded"

// LedgerLines returns the lines of the ledger at a moment, in the order of the vocabulary. They add up to the pool,
// where that is known: the bytes of lines that telemetry did not keep, because of a series limit for instance, are a
// line of their own.
func (m *Memory) LedgerLines(at ledger.Ledger) []ledger.Line {
	lines := at.Lines()
	if m.Pool == nil || len(lines) == 0 {
		return lines
	}
	if rest := *m.Pool - ledger.Sum(lines); math.Abs(rest) >= 1 {
		lines = append(lines, ledger.Line{Name: LineNotRecorded, Bytes: rest})
	}
	return lines
}
