package rundir

import (
	"time"

	"github.com/umascope/umascope/loadgen/rank"
)

// Share is a process's part of a run that several share, or that had a start.
type Share struct {
	rank.Place
	// Of is the name of the whole run.
	Of string `json:"of"`
	// StartAt is when the measured load began, by the wall clock of every process.
	StartAt time.Time `json:"start_at"`
	// Clock is what the kernel said of that clock; absent where it could not be asked.
	Clock *rank.Clock `json:"clock,omitempty"`
}

// Ranks is of a run that was merged from those of several processes.
type Ranks struct {
	World   int       `json:"world"`
	StartAt time.Time `json:"start_at"`
	// Missing are the ranks whose folders were not there.
	Missing []int  `json:"missing,omitempty"`
	Parts   []Part `json:"parts"`
	// AlignedWithinSeconds bounds how far requests of two ranks may be shifted against each other, by the
	// kernels' word on their clocks; 0 on one machine, absent where a kernel has no word. Durations and
	// everything else of a single request are exact in any case.
	AlignedWithinSeconds *float64 `json:"aligned_within_seconds,omitempty"`
}

// Part is the run of one rank, as far as it differs from the whole.
type Part struct {
	Share
	Run       string     `json:"run"`
	State     string     `json:"state"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	// ShiftNS was added to its offsets to make them count from the start of the whole.
	ShiftNS int64             `json:"shift_ns"`
	Program Program           `json:"program"`
	Client  Client            `json:"client"`
	Labels  map[string]string `json:"labels"`
	// Flags are those that not all ranks had alike.
	Flags map[string]string `json:"flags,omitempty"`
	// Sources are the sources of telemetry that were taken from it.
	Sources []string `json:"telemetry_sources,omitempty"`
}
