package demo

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/endpoint"
	hostsim "github.com/umascope/umascope/exporter/sim"
)

const gib = 1 << 30

// pagePath is where the simulated engine and KVBM have their metrics.
const pagePath = "/metrics"

// stage is a simulated DGX Spark that serves a simulated engine, seen by the project's exporter. The machine wants
// what the engine uses, and the engine sizes its KV cache by what the machine has left: what an arm does to the one
// shows in the other by that way and no other.
//
// Arms are begun one after the other. All else may be called at any time.
type stage struct {
	host      *hostsim.Host
	speed     float64
	seen      collector.Host
	exporter  *exporter.Exporter
	inference inference

	stop    context.CancelFunc
	running sync.WaitGroup
}

// stageSettings say what a stage is.
type stageSettings struct {
	seed uint64
	// speed is how many times as fast as the wall clock that of the machine goes.
	speed float64
	// enginePage and kvbmPage are the URLs at which the exporter reads them; whoever has the stage serves
	// engineHandler and kvbmHandler there.
	enginePage, kvbmPage string
}

// On the machine for an hour before anybody looks: what it did when it was switched on is past then.
const uptime = time.Hour

// openStage starts the machine. Nothing serves yet, and no engine is there.
func openStage(settings stageSettings) (*stage, error) {
	sources, err := sourcesAt(settings.enginePage, settings.kvbmPage)
	if err != nil {
		return nil, err
	}
	host, err := hostsim.New(hostsim.Config{
		Seed: settings.seed, Start: time.Now().Add(-uptime), SwapBytes: 16 * gib, RailSensors: true, Generations: true,
	})
	if err != nil {
		return nil, err
	}
	for name, bytes := range map[string]int64{weightsFile: weightBytes, containerWeightsFile: weightBytes, imageFile: imageBytes, homeFile: homeBytes} {
		if err := host.AddFile(name, bytes); err != nil {
			return nil, err
		}
	}
	host.Advance(uptime)
	s := &stage{host: host, speed: settings.speed, seen: host.Collect()}
	s.inference.host, s.inference.proc, s.inference.speed = host, s.seen.Proc, settings.speed
	s.seen.HTTP = endpoint.Transport() // to the engine, which is none of the machine's files
	s.exporter, err = exporter.New(s.seen, exporter.Settings{Options: collector.Options{
		ProcessLimit: shownProcesses, CachePaths: []string{weightsFile, containerWeightsFile, imageFile}, Sources: sources,
	}})
	if err != nil {
		s.seen.GPU.Close()
		return nil, fmt.Errorf("exporter of the simulated machine: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() { host.Run(ctx, settings.speed) })
	return s, nil
}

// sourcesAt are the pages that the exporter reads. KVBM does not say how large its blocks are.
func sourcesAt(enginePage, kvbmPage string) (collector.SourceOptions, error) {
	engine, err := endpoint.Parse(enginePage)
	if err != nil {
		return collector.SourceOptions{}, err
	}
	kvbm, err := endpoint.Parse(kvbmPage)
	return collector.SourceOptions{
		Targets:       collector.Targets{Engines: []*endpoint.Endpoint{engine}, KVBM: []*endpoint.Endpoint{kvbm}},
		BytesPerBlock: map[string]uint64{"": blockBytes},
	}, err
}

// exporterHandler serves the machine as uma-exporter does.
func (s *stage) exporterHandler() http.Handler { return s.exporter.Handler() }

// begin ends the engine that is there and starts one for an arm. It returns when the engine loads its weights.
func (s *stage) begin(ctx context.Context, a arm, o engineOptions) error {
	s.end()
	if a.dropsCaches {
		s.host.Sync()
		s.host.DropCaches()
	}
	return s.inference.begin(ctx, a, o)
}

// end ends the engine, if there is one. The machine stays, with all that it has in its page cache.
func (s *stage) end() { s.inference.end() }

// wait lets so much time pass on the machine's clock.
func (s *stage) wait(ctx context.Context, d time.Duration) error {
	return pause(ctx, time.Duration(float64(d)/s.speed))
}

// close ends everything.
func (s *stage) close() {
	s.inference.end()
	s.stop()
	s.running.Wait()
	s.seen.GPU.Close()
}

// pause waits, or says why it did not.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
