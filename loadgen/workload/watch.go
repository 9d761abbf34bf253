package workload

import (
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/openai"
)

// WatchInterval is the sleep between two wake-ups of the watch.
const WatchInterval = 5 * time.Millisecond

// Health is the health of this process while it was watched.
type Health struct {
	// Watched is true if the other fields were measured.
	Watched bool
	// Stalls are the times in which the process was not scheduled or was stopped by its own garbage collector. Short
	// ones are left out.
	Stalls []Stall
	// Shortest is the lateness from which on a stall is recorded.
	Shortest time.Duration
	// CPURatio is the process's processor time over wall time times cores, 0 to 1.
	CPURatio float64
}

// Stall is one such time, in nanoseconds of the clock.
type Stall struct{ FromNS, ToNS int64 }

// And combines the health of two phases: the stalls of both, and the higher CPU ratio.
func (h Health) And(other Health) Health {
	return Health{
		Watched: h.Watched || other.Watched, Stalls: append(h.Stalls, other.Stalls...), Shortest: max(h.Shortest, other.Shortest),
		CPURatio: max(h.CPURatio, other.CPURatio),
	}
}

// Watch detects times in which this process did not run. Its goroutine wakes every few milliseconds; if it wakes late,
// the scheduler, garbage collection or the machine held it up, and arrivals were stamped late too.
type Watch struct {
	clock      openai.Clock
	shortest   time.Duration // lateness that is recorded
	stop, done chan struct{}
	stalls     []Stall
	startNS    int64
	startCPU   time.Duration
}

// StartWatch records every lateness above shortest until End.
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
	timer := time.NewTimer(WatchInterval)
	defer timer.Stop()
	for {
		due := w.clock() + int64(WatchInterval)
		select {
		case <-w.stop:
			return
		case <-timer.C:
		}
		if now := w.clock(); now-due > int64(w.shortest) {
			w.note(Stall{due, now})
		}
		timer.Reset(WatchInterval)
	}
}

// mostStalls is how many stalls are kept. A client that is never on time for hours keeps the longer ones.
const mostStalls = 8192

func (w *Watch) note(s Stall) {
	if w.stalls = append(w.stalls, s); len(w.stalls) <= mostStalls {
		return
	}
	w.shortest *= 2
	w.stalls = slices.DeleteFunc(w.stalls, func(s Stall) bool { return s.ToNS-s.FromNS <= int64(w.shortest) })
}

// End stops the watch and returns what it measured.
func (w *Watch) End() Health {
	close(w.stop)
	<-w.done
	seen := Health{Watched: true, Stalls: w.stalls, Shortest: w.shortest}
	if wall := w.clock() - w.startNS; wall > 0 {
		cores := float64(runtime.GOMAXPROCS(0))
		seen.CPURatio = float64(processTime()-w.startCPU) / float64(wall) / cores
	}
	return seen
}

// processTime returns the CPU time of this process, user and system.
func processTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
