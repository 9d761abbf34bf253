package telemetry

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// flushInterval is how much of a killed run is lost at most.
const flushInterval = time.Second

// Sampler follows all sources of a run.
type Sampler struct {
	clock     func() int64
	out       *writer
	client    *http.Client
	followers []*follower
	stop      chan struct{}
	running   sync.WaitGroup
	// resting is set while the engine is not there: nobody expects its pages.
	resting atomic.Bool

	// wait is how long borders are waited for before an engine goes.
	wait time.Duration
	// untaken are borders whose sample of an engine's page is still to come.
	untaken sync.WaitGroup

	mutex   sync.Mutex // guards borders
	borders int
	missed  map[*follower][]string // borders that found a full queue
}

// Start creates the file and begins to sample. It fails on options that cannot work and on a
// file that cannot be created or exists; a source that does not answer is a gap in the file.
// Sampling ends with Stop or with the context; the file is complete only after Stop.
func Start(ctx context.Context, o Options) (*Sampler, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	first := header{Schema: schema, IntervalNS: o.Interval.Nanoseconds(), PerSource: SeriesLimit}
	for _, source := range o.Sources {
		first.Sources = append(first.Sources, headerSource{source.Name, publicURL(source.URL), source.Foreign})
	}
	out, err := newWriter(o.File, first)
	if err != nil {
		return nil, err
	}
	s := &Sampler{clock: o.Clock, out: out, stop: make(chan struct{}), missed: map[*follower][]string{}, wait: o.Interval}
	s.Rest(o.Away)
	s.follow(ctx, o)
	s.running.Go(func() { s.flush() })
	return s, nil
}

func (s *Sampler) follow(ctx context.Context, o Options) {
	s.client = refusingRedirects(cmp.Or(o.Client, newClient()))
	for i, source := range o.Sources {
		client := s.client
		if source.Client != nil {
			client = refusingRedirects(source.Client)
		}
		f := &follower{
			index: i, source: source, options: o, client: client, parse: parser(source), room: SeriesLimit,
			out: s.out, borders: make(chan border, borderQueue), taken: func() {
				if source.Foreign {
					s.untaken.Done()
				}
			}, away: s.resting.Load, resting: func() bool {
				return source.Foreign && s.resting.Load() || source.Closed != nil && source.Closed()
			},
			series: map[string]int{}, last: map[int]float64{}, dropped: map[string]bool{},
			stats: SourceStats{Name: source.Name, Foreign: source.Foreign},
		}
		s.followers = append(s.followers, f)
		s.running.Go(func() { f.follow(ctx, s.stop) })
	}
}

func (s *Sampler) flush() {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.out.flush()
		}
	}
}

// Mark notes that a phase begins now and has every source sampled because of it. It does not
// wait for the answers: the load must not be held up by an exporter.
func (s *Sampler) Mark(phase string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.out.put(line{Phase: &phaseLine{s.clock(), phase}})
	b := border{s.borders, phase}
	s.borders++
	for _, f := range s.followers {
		if f.source.Foreign {
			s.untaken.Add(1)
		}
		select {
		case f.borders <- b:
		default:
			f.taken()
			s.missed[f] = append(s.missed[f], phase)
		}
	}
}

// Sample has every exporter sampled now, beside its interval: where a load begins or ends, so that what was counted up to that
// moment is known. Pages of engines are left alone, since reading them holds requests up. Like Mark it does not wait; without
// room in the queue of a source the sample is left out.
func (s *Sampler) Sample() {
	for _, f := range s.followers {
		if f.source.Foreign {
			continue
		}
		select {
		case f.borders <- border{index: noPhase}:
		default:
		}
	}
}

// Rest says whether the engine is away: until it is there, and once it has been stopped, its pages are
// neither asked nor missed. Exporters are followed all the time. Before the engine goes, the borders that
// were marked while it was there get their samples, for an interval at most.
func (s *Sampler) Rest(away bool) {
	if away {
		s.takeEngineBorders()
	}
	s.resting.Store(away)
}

func (s *Sampler) takeEngineBorders() {
	taken := make(chan struct{})
	go func() {
		s.untaken.Wait()
		close(taken)
	}()
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case <-taken:
	case <-timer.C:
	}
}

// Stop takes the border samples that are still due, completes the file and says what was
// sampled. It must be called exactly once, after the last Mark. The error is that of the file:
// a full disk, for instance.
func (s *Sampler) Stop() (Stats, error) {
	close(s.stop)
	s.running.Wait()
	s.out.put(line{End: true})
	var stats Stats
	s.client.CloseIdleConnections()
	for _, f := range s.followers {
		f.client.CloseIdleConnections() // one of the source's own
		f.stats.MissingBorders = append(f.stats.MissingBorders, s.missed[f]...)
		stats.Sources = append(stats.Sources, f.stats)
		stats.CPUSeconds += f.cpu.Seconds()
	}
	size, err := s.out.close()
	stats.BytesWritten = size
	return stats, err
}
