package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// CaptureSettings are what to record.
type CaptureSettings struct {
	// Secrets are removed from every page of a source that is kept.
	Secrets []string
	// Telemetry are exporters, which must answer. If empty, the exporter on the server's machine is followed if it
	// answers.
	Telemetry []telemetry.Source
	// Server is the address of the server under test; empty for a load without a server, which runs on this machine.
	Server string
	// Replicas are the addresses of further servers that share the load.
	Replicas []string
	// Access is the path of the file with credentials for the exporters; empty means none.
	Access string
	// Scrape are pages of engines and KV block managers.
	Scrape   []telemetry.Source
	Interval time.Duration
	// Container is the name of the container that the engine runs in; empty means none.
	Container string
	Captures  []captureCommand

	dial func(ctx context.Context, network, address string) (net.Conn, error) // of the environment
}

// Check refuses duplicate names. Its errors name the flag.
func (s CaptureSettings) Check() error {
	for i, source := range s.Telemetry {
		if hasSource(s.Telemetry[:i], source.Name) {
			return fmt.Errorf("--telemetry: %s is given twice; each source needs a name of its own", source.Name)
		}
	}
	for i, page := range s.Scrape {
		if hasSource(s.Scrape[:i], page.Name) || hasSource(s.Telemetry, page.Name) {
			return fmt.Errorf("--scrape: %s is given twice; each source needs a name of its own", page.Name)
		}
	}
	for i, c := range s.Captures {
		if slices.ContainsFunc(s.Captures[:i], func(other captureCommand) bool { return other.name == c.name }) {
			return fmt.Errorf("--capture: %s is given twice; each command needs a name of its own", c.name)
		}
	}
	return nil
}

func hasSource(sources []telemetry.Source, name string) bool {
	return slices.ContainsFunc(sources, func(s telemetry.Source) bool { return s.Name == name })
}

// Requested reports whether the user asked for telemetry, so that its loss counts.
func (s CaptureSettings) Requested() bool { return len(s.Telemetry)+len(s.Scrape) > 0 }

// Capture is what is recorded around one load.
type Capture struct {
	// Sources are all sources that are followed; empty if there is no telemetry.
	Sources []telemetry.Source
	// spans are the phases that have ended.
	spans []rundir.Span

	settings  CaptureSettings
	away      bool // the engine is not running
	container *container
	described rundir.Container
	process   containerStart
	folder    rundir.Folder
	manifest  *rundir.Manifest
	sampler   *telemetry.Sampler
	snapshots *rundir.Snapshots
}

// newCapture finds everything that the settings name, before anything is recorded. If they name no exporter, it follows
// the one on the server's machine, if that answers. exporter is the URL of the exporter on this machine; if it is
// empty, newCapture searches for none. Errors name the flag.
func newCapture(ctx context.Context, s CaptureSettings, exporter string, log *slog.Logger) (*Capture, error) {
	capture, err := NewMachineCapture(ctx, s, exporter, log)
	if err == nil {
		err = capture.findEngine(ctx)
	}
	return capture, err
}

// NewMachineCapture is newCapture while the engine is not running. The engine's sources are not expected to answer until
// findEngine.
func NewMachineCapture(ctx context.Context, s CaptureSettings, exporter string, log *slog.Logger) (*Capture, error) {
	sources, err := s.sources(ctx, exporter, log)
	if err != nil {
		return nil, err
	}
	return &Capture{Sources: sources, settings: s, away: true}, nil
}

// followServer adds the metrics page of the server under test to the sources, unless --scrape names it. The page is
// read at the borders of phases. Call it before Follow.
func (s *Capture) followServer(page telemetry.Source) {
	same := func(other telemetry.Source) bool { return other.Foreign && samePage(other.URL, page.URL) }
	if slices.ContainsFunc(s.Sources, same) {
		return
	}
	for hasSource(s.Sources, page.Name) {
		page.Name += "_page"
	}
	page.Foreign, page.Borders = true, true
	s.Sources = append(s.Sources, page)
}

// samePage reports whether two URLs name the same page. A URL without a path means /metrics.
func samePage(one, two string) bool {
	whole := func(address string) string {
		page, err := url.Parse(address)
		if err != nil {
			return address
		}
		return strings.ToLower(page.Host) + "/" + cmp.Or(strings.Trim(page.Path, "/"), "metrics")
	}
	return whole(one) == whole(two)
}

// findEngine finds the container that the engine runs in, and follows the engine's pages from now on.
func (s *Capture) findEngine(ctx context.Context) error {
	if s.settings.Container != "" {
		c, facts, process, err := findContainer(ctx, s.settings.Container)
		if err != nil {
			return fmt.Errorf("--container: %w", err)
		}
		s.container, s.described, s.process = &c, facts, process
		if s.manifest != nil {
			s.manifest.Container = &s.described
		}
	}
	s.setAway(false)
	return nil
}

// containerProcess returns how the engine's container was started; false if there is no container.
func (s *Capture) containerProcess() (containerStart, bool) { return s.process, s.container != nil }

// engineStopped marks the engine as stopped. Its sources are no longer expected to answer.
func (s *Capture) engineStopped() { s.setAway(true) }

func (s *Capture) setAway(away bool) {
	s.away = away
	if s.sampler != nil {
		s.sampler.Rest(away)
	}
}

// sources returns all sources to follow.
func (s CaptureSettings) sources(ctx context.Context, exporter string, log *slog.Logger) ([]telemetry.Source, error) {
	sources, err := s.exporters(ctx, exporter, log)
	if err != nil {
		return nil, err
	}
	client := telemetry.NewClient(s.dial)
	for _, page := range s.Scrape {
		if hasSource(sources, page.Name) {
			return nil, fmt.Errorf("--scrape: %s is the name of an exporter", page.Name)
		}
		page.Foreign, page.Client = true, client
		sources = append(sources, page)
	}
	return sources, nil
}

func (s CaptureSettings) exporters(ctx context.Context, local string, log *slog.Logger) ([]telemetry.Source, error) {
	named, err := telemetry.Admitted(s.Telemetry, s.Access, s.dial)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", TelemetryAccessFlag, s.Access, err)
	}
	for _, source := range named {
		if err := telemetry.Probe(ctx, source); err != nil {
			return nil, fmt.Errorf("--telemetry: %s: %w%s", source.Name, err, s.lacks(source))
		}
	}
	if len(named) > 0 || local == "" {
		return named, nil
	}
	if !s.oneMachine(ctx) {
		log.Warn("no telemetry: the servers are on several machines; --telemetry NAME=URL names the exporter of each")
		return nil, nil
	}
	return defaultExporter(ctx, s.machine(ctx), local, exporterPort, telemetry.NewClient(s.dial), log)
}

// lacks returns which credentials a protected page may need and the settings do not have.
func (s CaptureSettings) lacks(source telemetry.Source) string {
	if s.Access != "" || !strings.HasPrefix(source.URL, "https://") {
		return ""
	}
	return fmt.Sprintf(" (without --%s no password is sent, and no certificate of one's own is trusted)", TelemetryAccessFlag)
}

// recordIn sets the folder and the manifest that everything is recorded in.
func (s *Capture) recordIn(f rundir.Folder, m *rundir.Manifest) {
	s.folder, s.manifest = f, m
	if s.container != nil {
		m.Container = &s.described
	}
}

// startSampling begins to sample the sources on the clock of the run.
func (s *Capture) startSampling(ctx context.Context, clock func() int64) error {
	if len(s.Sources) == 0 {
		return nil
	}
	var err error
	if s.snapshots, err = rundir.NewSnapshots(s.folder); err != nil {
		return err
	}
	s.sampler, err = telemetry.Start(context.WithoutCancel(ctx), telemetry.Options{
		Sources: s.Sources, Engines: supported.Engines(), Interval: s.settings.Interval,
		File: s.folder.Path(rundir.TelemetryFile), Clock: clock, Page: s.snapshots.Add, Away: s.away, Hide: s.redact(),
	})
	return err
}

// mark marks the begin of a phase.
func (s *Capture) mark(phase string) {
	if s.sampler != nil {
		s.sampler.Mark(phase)
	}
}

// sample takes a sample of the machines now, where a load begins or ends within its phase.
func (s *Capture) sample() {
	if s.sampler != nil {
		s.sampler.Sample()
	}
}

// passed records a phase that has ended, immediately, so that the folder of a killed run can be read.
func (s *Capture) passed(span rundir.Span) error {
	s.spans = append(s.spans, span)
	return s.folder.WriteJSON(rundir.PhasesFile, rundir.Phases{Schema: rundir.PhasesSchema, Phases: s.spans})
}

// bordersSettle is how long a run settles if no page is sampled between the borders of phases. An engine counts a
// request shortly after its last byte.
const bordersSettle = 100 * time.Millisecond

// settle waits for one telemetry interval, so that there are samples before and after the load.
func (s *Capture) settle(stop context.Context) {
	if s.sampler == nil {
		return
	}
	wait := s.settings.Interval
	if !slices.ContainsFunc(s.Sources, func(source telemetry.Source) bool { return !source.Borders }) {
		wait = min(wait, bordersSettle)
	}
	select {
	case <-time.After(wait):
	case <-stop.Done():
	}
}

// stopSampling ends the telemetry.
func (s *Capture) stopSampling() error {
	if s.sampler == nil {
		return nil
	}
	stats, err := s.sampler.Stop()
	s.manifest.Telemetry = &stats
	return errors.Join(err, s.snapshots.Close())
}

// readTelemetry reads the telemetry back from the folder, so that a report shows what the folder holds. It is nil
// without telemetry.
func (s *Capture) readTelemetry() (*telemetry.Log, error) {
	if s.sampler == nil {
		return nil, nil
	}
	log, err := telemetry.Read(s.folder.Path(rundir.TelemetryFile))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	log.Engines = supported.Engines()
	return log, nil
}

// warnings returns the recording failures that do not fail the run.
func (s *Capture) warnings() []string {
	w := captureWarnings(s.manifest.Captures)
	if c := s.manifest.Container; c != nil && c.LogError != "" {
		w = append(w, "--container: its log is not complete: "+c.LogError)
	}
	return w
}
