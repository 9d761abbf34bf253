package executor

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/openai"
)

// watchInterval is how often the watch asks to be woken.
const watchInterval = 5 * time.Millisecond

// Health is how this process fared while it was watched.
type Health struct {
	// Watched says whether the rest was observed.
	Watched bool
	// Stalls are the times in which the process was not scheduled, or was stopped by its own garbage
	// collector; short ones are left out.
	Stalls []Stall
	// CPURatio is the process's processor time over wall time times cores, 0 to 1.
	CPURatio float64
}

// Stall is one such time, in nanoseconds of the clock.
type Stall struct{ FromNS, ToNS int64 }

// And is how the client fared in two phases: the stalls of both, and the busier one's share of the
// cores.
func (h Health) And(other Health) Health {
	return Health{
		Watched: h.Watched || other.Watched, Stalls: append(h.Stalls, other.Stalls...), CPURatio: max(h.CPURatio, other.CPURatio),
	}
}

// Watch notices when this process was not running: a goroutine that wants to wake every
// few milliseconds and does not was held up by the scheduler, by garbage collection or by the
// machine, and so was everything that stamps arrivals.
type Watch struct {
	clock      openai.Clock
	shortest   time.Duration // lateness that is noted
	stop, done chan struct{}
	stalls     []Stall
	startNS    int64
	startCPU   time.Duration
}

// StartWatch notes every lateness of more than the shortest until End.
func StartWatch(clock openai.Clock, shortest time.Duration) *Watch {
	w := &Watch{
		clock: clock, shortest: shortest, stop: make(chan struct{}), done: make(chan struct{}),
		startNS: clock(), startCPU: processTime(),
	}
	go w.run()
	return w
}

func (w *Watch) run() {
	defer close(w.done)
	timer := time.NewTimer(watchInterval)
	defer timer.Stop()
	for {
		due := w.clock() + int64(watchInterval)
		select {
		case <-w.stop:
			return
		case <-timer.C:
		}
		if now := w.clock(); now-due > int64(w.shortest) {
			w.stalls = append(w.stalls, Stall{due, now})
		}
		timer.Reset(watchInterval)
	}
}

// End stops the watch and says what it saw.
func (w *Watch) End() Health {
	close(w.stop)
	<-w.done
	seen := Health{Watched: true, Stalls: w.stalls}
	if wall := w.clock() - w.startNS; wall > 0 {
		cores := float64(runtime.GOMAXPROCS(0))
		seen.CPURatio = float64(processTime()-w.startCPU) / float64(wall) / cores
	}
	return seen
}

// processTime is the processor time of this process, user and system.
func processTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
