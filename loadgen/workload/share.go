package workload

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/traffic"
)

// resolveShare refuses a load that cannot be shared: a rank without requests or without a slot would change the load.
func (s *Settings) resolveShare() error {
	if s.Place.Alone() {
		return nil
	}
	if s.hasPhases() {
		return fmt.Errorf("--world: the phases of --scenario %s follow each other, and ranks do not wait for one another; run it in one process", s.Scenario.Name)
	}
	slots := "--concurrency"
	if s.Arrival == traffic.Closed && len(s.stages) > 0 {
		slots = "--stages"
	}
	for _, shared := range []struct {
		flag   string
		amount int // 0 is without limit
	}{{"--clients", s.clients}, {slots, s.MostInFlight()}, {"--requests", s.requests}} {
		if shared.amount > 0 && shared.amount < s.Place.World {
			return fmt.Errorf("%s: %d cannot be shared out over %d ranks", shared.flag, shared.amount, s.Place.World)
		}
	}
	return nil
}

// raisedToWorld returns notes about the defaults that were raised so that every rank has a share.
func (s *Settings) raisedToWorld() []string {
	if s.Place.Alone() {
		return nil
	}
	inFlight := atLeastWorld{"--concurrency", defaultConcurrency, s.Concurrency, s.concurrencyGiven || s.Arrival != traffic.Closed || len(s.stages) > 0}
	if s.clients > 0 {
		inFlight = atLeastWorld{"--clients", defaultClients, s.clients, s.clientsGiven}
	}
	var notes []string
	for _, d := range []atLeastWorld{inFlight, {"--requests", defaultRequests, s.requests, s.requestsGiven}} {
		if !d.given && d.amount > d.usual {
			notes = append(notes, fmt.Sprintf("%s was raised from the default %d to %d, the number of ranks", d.flag, d.usual, d.amount))
		}
	}
	return notes
}

// atLeastWorld is a flag whose default is raised to the number of ranks.
type atLeastWorld struct {
	flag          string
	usual, amount int
	given         bool
}

// byWorker reports whether the ranks share workers instead of requests: a worker is then a client, and only its process
// has the content of its conversations.
func (w *Workload) byWorker() bool { return w.Script.workers > 1 }

// takes reports whether this rank sends a request.
func (w *Workload) takes(s slot) bool {
	if w.byWorker() {
		return w.place.Takes(s.content.worker)
	}
	return w.place.Takes(s.index)
}

// Share returns a phase with this rank's share of the slots. A worker that belongs to one rank keeps its slots, and a
// warm-up with fewer slots than ranks has one on each.
func (w *Workload) Share(p Phase) Phase {
	if w.place.Alone() || w.byWorker() {
		return p
	}
	if slots := cmp.Or(p.Slots, w.Script.Slots); slots > 0 {
		p.Slots = max(w.place.Share(slots), 1)
	}
	if !p.Process.Open() {
		p.Process.Stages = slices.Clone(p.Process.Stages)
		for i := range p.Process.Stages {
			p.Process.Stages[i].Level = float64(w.place.Share(int(p.Process.Stages[i].Level)))
		}
	}
	return p
}

// own returns how many requests of a phase this rank sends; 0 if only time ends the phase.
func (w *Workload) own(p Phase) int {
	if p.Endless() {
		return 0
	}
	count := 0
	for s := range w.slots(p, 0) {
		if w.takes(s) {
			count++
		}
	}
	return count
}
