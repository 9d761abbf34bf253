package metric

import "time"

// ContainerThresholds are the numbers of alerts about containers.
type ContainerThresholds struct {
	// UncoveredRatio is the limit of the share of a container's memory that its limit does not count. It is our own
	// choice: below a tenth the limit still shows about how much the container takes.
	UncoveredRatio float64
	// OverheadBytes is the limit of how much more memory runs in a container occupy without KV cache than native ones, by a
	// comparison that finds the difference: what is less is small beside any engine.
	OverheadBytes float64
}

// RunThresholds are the numbers of alerts about runs and comparisons.
type RunThresholds struct {
	// Fresh is how long a result raises alerts. A run never changes, so that an alert about one would otherwise last
	// until its cell is run again, which may be never.
	Fresh time.Duration
	// HotterCelsius is the limit of how much hotter a run may be than those before it, at a power that is at most
	// SamePower times theirs: heat follows power, and more load is no fault of the cooling. Our own choices; the
	// driver's reading is in whole degrees, and a room changes by three.
	HotterCelsius, SamePower float64
	// KVShare is the limit of the tokens for which the KV cache has room, as a share of its earlier room.
	KVShare float64
	// StalledAfter is the maximum time of a run without an answer to any request, whole or in part.
	StalledAfter time.Duration
}
