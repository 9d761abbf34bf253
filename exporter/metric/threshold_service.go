package metric

import "time"

// ServiceThresholds are the numbers of alerts about engines in steady service, where no run tells what should be there.
type ServiceThresholds struct {
	// StartShare is the share of the pool that the next start of an engine is taken to need where none has held more
	// within Remembered. Our own choice: TensorRT-LLM takes nine tenths of what CUDA calls free, so that with less than half
	// of the pool free it has less than 55 GiB of a Spark's 121.7 for weights and KV cache together.
	StartShare float64
	// DesktopShare is the share of the pool above which the memory that was held is that of an engine: the programs of a
	// desktop hold less than half a GiB of a Spark's.
	DesktopShare float64
	// Remembered is for how long the memory that engines held counts as what the next start needs.
	Remembered time.Duration
	// FailedStarts is the number of processes of one program in one service that held GPU memory and have ended
	// within StartsWithin. A restart or two are somebody's work; vLLM that fails at its start takes 1 to 3 minutes for it, so
	// that a loop has ten in this time.
	FailedStarts float64
	StartsWithin time.Duration
	// UpRatio is the limit of the share of scrapes within UpWindow that reached the exporter: a third of them lost leaves
	// holes in every trend. A restart for an update loses one or two.
	UpRatio  float64
	UpWindow time.Duration
	// UpChanges is the number of times within UpWindow that it began or ceased to answer: one outage has two.
	UpChanges float64
}
