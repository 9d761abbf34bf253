package telemetry

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/loadgen/runfile"
)

// flushInterval is the longest part of a killed run that is lost.
const flushInterval = time.Second

// Sampler follows all sources of a run.
type Sampler struct {
	clock     func() int64
	out       *writer
	client    *http.Client
	followers []*follower
	stop      chan struct{}
	running   sync.WaitGroup
	// resting is set while the engine is away: its pages are not due then.
	resting atomic.Bool

	// wait is the longest wait for borders before an engine stops.
	wait time.Duration
	// untaken counts borders whose sample of an engine's page is still to come.
	untaken sync.WaitGroup

	mutex   sync.Mutex // guards borders
	borders int
	missed  map[*follower][]string // borders for which the queue was full
}

// Start creates the file and begins to sample. It fails on invalid options and on a file that exists or cannot be
// created; a source that does not answer is a gap in the file. Sampling ends with Stop or with the context; the file is
// complete only after Stop.
func Start(ctx context.Context, o Options) (*Sampler, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	first := Header{Schema: schema, IntervalNS: o.Interval.Nanoseconds(), PerSource: SeriesLimit}
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
	s.client = refusingRedirects(cmp.Or(o.Client, NewClient(nil)))
	for i, source := range o.Sources {
		client := s.client
		if source.Client != nil {
			client = refusingRedirects(source.Client)
		}
		f := &follower{
			index: i, source: source, options: o, client: client, parse: parser(source, o.Engines), room: SeriesLimit,
			out: s.out, borders: make(chan border, borderQueue), taken: func() {
				if source.Foreign {
					s.untaken.Done()
				}
			}, away: s.resting.Load, resting: func() bool {
				return source.Foreign && s.resting.Load() || source.Closed != nil && source.Closed()
			},
			series: map[string]int{}, last: map[int]float64{}, dropped: map[string]bool{},
			stats: runfile.SourceSamplingStats{Name: source.Name, Foreign: source.Foreign},
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

// Mark marks the beginning of a phase and makes every source take a sample for it. It does not wait for the answers: an
// exporter must not delay the load.
func (s *Sampler) Mark(phase string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.out.put(Line{Phase: &phaseLine{s.clock(), phase}})
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

// Sample makes every exporter take an additional sample now, at the beginning or end of a load, so that the counts up
// to that moment are recorded. It skips engines' pages, since reading them delays requests. Like Mark it does not wait;
// if the queue of a source is full, the sample is dropped.
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

// Latest calls visit for each series of the last sample of each exporter. An exporter whose last sample failed has none.
func (s *Sampler) Latest(visit func(source, family string, labels map[string]string, value float64)) {
	for _, f := range s.followers {
		last := f.latest.Load()
		if last == nil || f.source.Foreign {
			continue
		}
		for _, o := range *last {
			visit(f.source.Name, o.name, o.labels, o.value)
		}
	}
}

// Rest sets whether the engine is away. While it is away, before its start and after its stop, its pages are neither
// read nor counted as missing. Exporters are always followed. Before the engine goes, the borders that were marked
// while it was there get their samples, for an interval at most.
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

// Stop takes the border samples that are still due, completes the file and returns what was sampled. It must be called
// exactly once, after the last Mark. The error is that of the file: a full disk, for instance.
func (s *Sampler) Stop() (runfile.SamplingStats, error) {
	close(s.stop)
	s.running.Wait()
	s.out.put(Line{End: true})
	var stats runfile.SamplingStats
	s.client.CloseIdleConnections()
	for _, f := range s.followers {
		f.client.CloseIdleConnections() // a source's own client
		f.stats.MissingBorders = append(f.stats.MissingBorders, s.missed[f]...)
		stats.Sources = append(stats.Sources, f.stats)
		stats.CPUSeconds += f.cpu.Seconds()
	}
	size, err := s.out.close()
	stats.BytesWritten = size
	return stats, err
}
