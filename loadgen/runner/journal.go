package runner

import (
	"sync"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// journal records the phases of a run: on the live page and in the telemetry when a phase begins, in the folder when
// it ends. The journal itself keeps the span of a phase without load. The span of a phase with load is the time in
// which its requests were sent.
type journal struct {
	clock   openai.Clock // nil until the run has begun
	capture *Capture
	meter   meter // shows the phases to people

	mutex sync.Mutex // guards the fields below: two goroutines begin phases from the log of a command
	live  *liveRun
	span  rundir.Span // the current phase without load; its name is empty if there is none
}

// show replaces the run on the live page. The phase stays.
func (j *journal) show(shown *liveRun) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.live = shown
	j.live.enter(j.span.Name)
}

// open sets the clock of the run, and the telemetry in which phases are marked.
func (j *journal) open(s *Capture, clock openai.Clock) { j.capture, j.clock = s, clock }

// enter marks the begin of a phase with load. passed records its span.
func (j *journal) enter(phase string) {
	j.live.enter(phase)
	j.capture.mark(phase)
}

// passed records a phase with load that has ended.
func (j *journal) passed(span rundir.Span) error { return j.capture.passed(span) }

// begin records the current phase and begins another, which may have the same name.
func (j *journal) begin(phase string) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.replace(phase)
}

// pass is like begin, but does nothing if the phase is the current one.
func (j *journal) pass(phase string) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.span.Name == phase {
		return nil
	}
	return j.replace(phase)
}

// leave records the current phase, if there is one.
func (j *journal) leave() error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.note()
}

// replace is like begin; the caller holds the mutex.
func (j *journal) replace(phase string) error {
	err := j.note()
	j.enter(phase)
	j.span = rundir.Span{Name: phase, StartNS: j.clock()}
	j.meter.enter(phase, j.span.StartNS)
	return err
}

// note is like leave; the caller holds the mutex.
func (j *journal) note() error {
	if j.span.Name == "" {
		return nil
	}
	span := j.span
	span.EndNS = j.clock()
	j.meter.enter("", span.EndNS)
	j.span = rundir.Span{}
	return j.capture.passed(span)
}
