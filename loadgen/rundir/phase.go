package rundir

// Phases is phases.json: the finished phases, in the order in which they began.
type Phases struct {
	Schema string `json:"schema" pack:"word"`
	Phases []Span `json:"phases"`
}

// Phases of a run, in order. Ready and stop have no load: they add a stretch of telemetry before and after it.
const (
	PhaseReady   = "ready"
	PhaseWarmup  = "warmup"
	PhaseMeasure = "measure"
	PhaseStop    = "stop"
)

// Span is the time of a phase, in nanoseconds since the run's start.
type Span struct {
	Name    string `json:"name" pack:"word"`
	StartNS int64  `json:"start_ns"`
	EndNS   int64  `json:"end_ns"`
}
