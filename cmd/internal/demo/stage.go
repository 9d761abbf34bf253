package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	hostsim "github.com/umascope/umascope/exporter/sim"
)

const gib = 1 << 30

// pagePath is the path of the metrics of the simulated engine and of KVBM.
const pagePath = "/metrics"

// stage is a simulated DGX Spark with a simulated engine, observed by the project's exporter. The memory demand of the
// machine follows the engine, and the engine sizes its KV cache by the free memory of the machine: this is the only way
// by which an arm affects the other figures.
//
// Arms are started one after the other. All other methods are safe for concurrent use.
type stage struct {
	host      *hostsim.Host
	factor    int // see stageSettings
	seen      collector.Host
	exporter  *exporter.Exporter
	inference inference

	stop    context.CancelFunc
	running sync.WaitGroup
}

// stageSettings configure a stage.
type stageSettings struct {
	seed    uint64
	weights int64 // bytes of the model
	// factor divides the durations of what goes on beside the engine and the heat that the machine stores: timeFactor for
	// rules with scaled durations, else 1.
	factor int
	// enginePage and kvbmPage are the URLs at which the exporter reads them; the owner of the stage serves
	// engineHandler and kvbmHandler there.
	enginePage, kvbmPage string
	// dial opens the exporter's connections to them; nil is the machine's network.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// uptime of the machine at the first scrape: the work of booting is over by then.
const uptime = time.Hour

// openStage starts the machine, without servers and without an engine.
func openStage(settings stageSettings) (*stage, error) {
	sources, err := sourcesAt(settings.enginePage, settings.kvbmPage)
	if err != nil {
		return nil, err
	}
	host, err := hostsim.New(hostsim.Config{
		Seed: settings.seed, Start: time.Now().Add(-uptime), SwapBytes: 16 * gib, RailSensors: true, Generations: true, ThermalFactor: int64(settings.factor),
	})
	if err != nil {
		return nil, err
	}
	for name, bytes := range map[string]int64{weightsFile: settings.weights, containerWeightsFile: settings.weights, imageFile: imageBytes, homeFile: homeBytes} {
		if err := host.AddFile(name, bytes); err != nil {
			host.Close()
			return nil, err
		}
	}
	host.Advance(uptime)
	s := &stage{host: host, factor: settings.factor, seen: host.Collect()}
	s.inference.host, s.inference.weights = host, settings.weights
	s.seen.HTTP = engine.Transport(settings.dial) // requests to the engine, which is not a file of the machine
	s.exporter, err = exporter.New(s.seen, exporter.Settings{Options: collector.Options{
		ProcessLimit: shownProcesses, CachePaths: []string{weightsFile, containerWeightsFile, imageFile}, Sources: sources,
	}})
	if err != nil {
		s.seen.Close()
		host.Close()
		return nil, fmt.Errorf("exporter of the simulated machine: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() { host.Run(ctx, 1) })
	return s, nil
}

// sourcesAt returns the pages that the exporter reads. KVBM does not report the size of its blocks, so that it is
// given.
func sourcesAt(enginePage, kvbmPage string) (collector.SourceOptions, error) {
	page, err := engine.ParseEndpoint(enginePage)
	if err != nil {
		return collector.SourceOptions{}, err
	}
	kvbm, err := engine.ParseEndpoint(kvbmPage)
	return collector.SourceOptions{
		Targets:       collector.Targets{Engines: []*engine.Endpoint{page}, KVBM: []*engine.Endpoint{kvbm}},
		BytesPerBlock: map[string]uint64{"": blockBytes},
	}, err
}

// exporterHandler serves the metrics of the machine as uma-exporter does.
func (s *stage) exporterHandler() http.Handler { return s.exporter.Handler() }

// begin ends the current engine and starts one for an arm. It returns when the engine loads its weights.
func (s *stage) begin(ctx context.Context, a arm, o engineOptions) error {
	s.end()
	if a.dropsCaches {
		s.host.Sync()
		s.host.DropCaches()
	}
	return s.inference.begin(ctx, a, o)
}

// end stops the engine, if there is one. The machine goes on, with its page cache.
func (s *stage) end() { s.inference.end() }

// wait returns after a duration that goes with those of the rules.
func (s *stage) wait(ctx context.Context, d time.Duration) error {
	return pause(ctx, d/time.Duration(s.factor))
}

// close stops the engine, the exporter and the machine.
func (s *stage) close() {
	s.inference.end()
	s.stop()
	s.running.Wait()
	s.seen.Close()
	s.host.Close()
}

// pause waits for d, or returns the error of ctx.
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
