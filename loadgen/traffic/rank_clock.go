package traffic

// Clock is the state of the wall clock from adjtimex(2), which NTP and PTP daemons feed. Its error bounds how far the
// requests of two machines may be shifted against each other. Durations come from one machine's monotonic clock and do
// not depend on it.
type Clock struct {
	// Synchronised is true if a daemon disciplines the clock. Otherwise the errors have no meaning.
	Synchronised bool `json:"synchronised"`
	// MaxErrorSeconds is the kernel's bound of the error, EstimatedErrorSeconds the daemon's estimate.
	MaxErrorSeconds       float64 `json:"max_error_seconds"`
	EstimatedErrorSeconds float64 `json:"estimated_error_seconds"`
}
