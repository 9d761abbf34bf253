package summary

// Requests holds the data of the charts about the requests of a run.
type Requests struct {
	total *aggregate // of the measured phases
	// Timeline covers all phases.
	Timeline *Timeline
}

// Latency describes the latencies of the measured requests.
func (r *Requests) Latency() Latency { return r.total.latency() }

// Values returns a quantity of the measured requests that ended ok and have it, in nanoseconds.
func (r *Requests) Values(of Quantity) []int64 { return r.total.sent.values(of) }

// EachChunkGap visits the gaps between chunks of measured requests in ascending order, in nanoseconds, with the number
// of times each occurred.
func (r *Requests) EachChunkGap(visit func(value, count int64)) { r.total.chunkGap.each(visit) }

// Quantity returns a figure of one request; absent if it has none.
type Quantity func(sample) int64

// TPOT returns the quantity time per output token.
func TPOT() Quantity { return tpot }
