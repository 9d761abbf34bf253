package rundir

import (
	"time"

	"github.com/umascope/umascope/loadgen/traffic"
)

// Share is a process's part of a run that several processes share, or that had a start time.
type Share struct {
	traffic.Place
	// Of is the name of the whole run.
	Of string `json:"of" pack:"run"`
	// StartAt is when the measured load began, by the wall clock of every process.
	StartAt time.Time `json:"start_at"`
	// Clock is the kernel's report on that clock; absent if it was not available.
	Clock *traffic.Clock `json:"clock,omitempty"`
}

// Ranks is set for a run that was merged from those of several processes.
type Ranks struct {
	World   int       `json:"world"`
	StartAt time.Time `json:"start_at"`
	// Missing are the ranks whose folders were missing.
	Missing []int  `json:"missing,omitempty"`
	Parts   []Part `json:"parts"`
	// AlignedWithinSeconds bounds how far requests of two ranks may be shifted against each other, by the kernels'
	// clock error estimates; 0 on one machine, absent if a kernel gives no estimate. Durations and all other figures of
	// a single request are exact in any case.
	AlignedWithinSeconds *float64 `json:"aligned_within_seconds,omitempty"`
}

// Part is the run of one rank, in the fields that differ from the whole run.
type Part struct {
	Share
	Run       string     `json:"run" pack:"run"`
	State     string     `json:"state" pack:"word"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	// ShiftNS was added to its offsets, so that they count from the start of the whole run.
	ShiftNS int64             `json:"shift_ns"`
	Program Program           `json:"program"`
	Client  Client            `json:"client"`
	Labels  map[string]string `json:"labels" pack:"labels"`
	// Flags are those that differ between ranks.
	Flags map[string]string `json:"flags,omitempty" pack:"flags"`
	// Sources are the sources of telemetry that were taken from it.
	Sources []string `json:"telemetry_sources,omitempty" pack:"source"`
}
