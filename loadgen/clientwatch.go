package loadgen

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/report"
)

const (
	// watchInterval is how often the watch asks to be woken.
	watchInterval = 5 * time.Millisecond
	// usualShortest is the least lateness that is noted unless validity has a lower limit.
	usualShortest = 10 * time.Millisecond
)

// shortestStall is the least lateness that must be noted for validity to decide what is too much.
func shortestStall(limits report.Limits) time.Duration {
	if own, given := limits[report.CodeClientStall]; given && !own.Off {
		return min(usualShortest, time.Duration(own.Value*float64(time.Second)))
	}
	return usualShortest
}

// clientWatch notices when this process was not running: a goroutine that wants to wake every
// few milliseconds and does not was held up by the scheduler, by garbage collection or by the
// machine, and so was everything that stamps arrivals.
type clientWatch struct {
	clock      chat.Clock
	shortest   time.Duration // lateness that is noted
	stop, done chan struct{}
	stalls     []report.Stall
	startNS    int64
	startCPU   time.Duration
}

func watchClient(clock chat.Clock, shortest time.Duration) *clientWatch {
	w := &clientWatch{
		clock: clock, shortest: shortest, stop: make(chan struct{}), done: make(chan struct{}),
		startNS: clock(), startCPU: processTime(),
	}
	go w.run()
	return w
}

func (w *clientWatch) run() {
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
			w.stalls = append(w.stalls, report.Stall{FromNS: due, ToNS: now})
		}
		timer.Reset(watchInterval)
	}
}

// end stops the watch and says what it saw.
func (w *clientWatch) end() report.ClientHealth {
	close(w.stop)
	<-w.done
	health := report.ClientHealth{Watched: true, Stalls: w.stalls}
	if wall := w.clock() - w.startNS; wall > 0 {
		cores := float64(runtime.GOMAXPROCS(0))
		health.CPURatio = float64(processTime()-w.startCPU) / float64(wall) / cores
	}
	return health
}

// together is how the client fared in two phases: the stalls of both, and the busier one's share of the
// cores.
func together(a, b report.ClientHealth) report.ClientHealth {
	return report.ClientHealth{
		Watched: a.Watched || b.Watched, Stalls: append(a.Stalls, b.Stalls...), CPURatio: max(a.CPURatio, b.CPURatio),
	}
}

// processTime is the processor time of this process, user and system.
func processTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
