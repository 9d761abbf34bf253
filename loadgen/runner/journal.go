package runner

import (
	"sync"

	"github.com/umascope/umascope/loadgen/capture"
	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// journal notes the phases of a run: on the live page and in the telemetry when they begin, in the folder when they are over.
// The journal itself keeps the span of those without load; the span of a phase of load is when its requests were sent.
type journal struct {
	clock openai.Clock // nil until the run has begun
	scene *capture.Scene

	mutex sync.Mutex // guards the rest: the log of a command begins phases from two goroutines
	live  *live.Run
	span  rundir.Span // the phase without load that lasts; without a name, there is none
}

// show replaces the run of the live page, which is in the same phase.
func (j *journal) show(shown *live.Run) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.live = shown
	j.live.Enter(j.span.Name)
}

// open gives the journal the clock of the run, and the telemetry that phases are marked in.
func (j *journal) open(s *capture.Scene, clock openai.Clock) { j.scene, j.clock = s, clock }

// enter marks that a phase of load begins. Its span is noted by passed.
func (j *journal) enter(phase string) {
	j.live.Enter(phase)
	j.scene.Enter(phase)
}

// passed notes a phase of load that is over.
func (j *journal) passed(span rundir.Span) error { return j.scene.Passed(span) }

// begin notes the phase that lasts and begins another, which may have the same name.
func (j *journal) begin(phase string) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.replace(phase)
}

// pass is begin unless the phase lasts already.
func (j *journal) pass(phase string) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.span.Name == phase {
		return nil
	}
	return j.replace(phase)
}

// leave notes the phase that lasts, if there is one.
func (j *journal) leave() error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.note()
}

// replace is begin for those who hold the mutex.
func (j *journal) replace(phase string) error {
	err := j.note()
	j.enter(phase)
	j.span = rundir.Span{Name: phase, StartNS: j.clock()}
	return err
}

// note is leave for those who hold the mutex.
func (j *journal) note() error {
	if j.span.Name == "" {
		return nil
	}
	span := j.span
	span.EndNS = j.clock()
	j.span = rundir.Span{}
	return j.scene.Passed(span)
}
