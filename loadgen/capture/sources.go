// Package capture records what happens around a load of any kind: the pages of exporters and engines, with a raw page
// of each at the borders of phases; the engine's container, with its log; and the output of commands before and after
// the load.
package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Settings are what to record.
type Settings struct {
	// Secrets are removed from every page of a source that is kept.
	Secrets []string
	// Telemetry are exporters, which must answer. If empty, the exporter on the server's machine is followed if it
	// answers.
	Telemetry []telemetry.Source
	// Server is the address of the server under test; empty for a load without a server, which runs on this machine.
	Server string
	// Access is the path of the file with credentials for the exporters; empty means none.
	Access string
	// Scrape are pages of engines and KV block managers.
	Scrape   []telemetry.Source
	Interval time.Duration
	// Container is the name of the container that the engine runs in; empty means none.
	Container string
	Captures  []Capture
}

// Check refuses duplicate names. Its errors name the flag.
func (s Settings) Check() error {
	for i, source := range s.Telemetry {
		if named(s.Telemetry[:i], source.Name) {
			return fmt.Errorf("--telemetry: %s is given twice; each source needs a name of its own", source.Name)
		}
	}
	for i, page := range s.Scrape {
		if named(s.Scrape[:i], page.Name) || named(s.Telemetry, page.Name) {
			return fmt.Errorf("--scrape: %s is given twice; each source needs a name of its own", page.Name)
		}
	}
	for i, c := range s.Captures {
		if slices.ContainsFunc(s.Captures[:i], func(other Capture) bool { return other.name == c.name }) {
			return fmt.Errorf("--capture: %s is given twice; each command needs a name of its own", c.name)
		}
	}
	return nil
}

func named(sources []telemetry.Source, name string) bool {
	return slices.ContainsFunc(sources, func(s telemetry.Source) bool { return s.Name == name })
}

// Requested reports whether the user asked for telemetry, so that its loss counts.
func (s Settings) Requested() bool { return len(s.Telemetry)+len(s.Scrape) > 0 }

// Scene is what is recorded around one load.
type Scene struct {
	// Sources are all sources that are followed; empty if there is no telemetry.
	Sources []telemetry.Source
	// Spans are the phases that have ended.
	Spans []rundir.Span

	settings  Settings
	away      bool // the engine is not running
	container *container
	described rundir.Container
	process   Process
	folder    rundir.Folder
	manifest  *rundir.Manifest
	sampler   *telemetry.Sampler
	snapshots *rundir.Snapshots
}

// Look finds everything that the settings name, before anything is recorded. If they name no exporter, it follows the
// one on the server's machine, if that answers. exporter is the URL of the exporter on this machine; if it is empty,
// Look searches for none. Errors name the flag.
func Look(ctx context.Context, s Settings, exporter string, log *slog.Logger) (*Scene, error) {
	scene, err := LookAtMachines(ctx, s, exporter, log)
	if err == nil {
		err = scene.LookAtEngine(ctx)
	}
	return scene, err
}

// LookAtMachines is Look while the engine is not running. The engine's sources are not expected to answer until
// LookAtEngine.
func LookAtMachines(ctx context.Context, s Settings, exporter string, log *slog.Logger) (*Scene, error) {
	sources, err := s.sources(ctx, exporter, log)
	if err != nil {
		return nil, err
	}
	return &Scene{Sources: sources, settings: s, away: true}, nil
}

// FollowServer adds the metrics page of the server under test to the sources, unless --scrape names it. The page is
// read at the borders of phases. Call it before Follow.
func (s *Scene) FollowServer(page telemetry.Source) {
	same := func(other telemetry.Source) bool { return other.Foreign && samePage(other.URL, page.URL) }
	if slices.ContainsFunc(s.Sources, same) {
		return
	}
	for page.Name = serverPage; named(s.Sources, page.Name); page.Name += "_page" {
	}
	page.Foreign, page.Borders = true, true
	s.Sources = append(s.Sources, page)
}

// serverPage is the source name of the metrics page of the server under test.
const serverPage = "server"

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

// LookAtEngine finds the container that the engine runs in, and follows the engine's pages from now on.
func (s *Scene) LookAtEngine(ctx context.Context) error {
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

// Process returns how the engine's container was started; false if there is no container.
func (s *Scene) Process() (Process, bool) { return s.process, s.container != nil }

// EngineGoes marks the engine as stopped. Its sources are no longer expected to answer.
func (s *Scene) EngineGoes() { s.setAway(true) }

func (s *Scene) setAway(away bool) {
	s.away = away
	if s.sampler != nil {
		s.sampler.Rest(away)
	}
}

// sources returns all sources to follow.
func (s Settings) sources(ctx context.Context, exporter string, log *slog.Logger) ([]telemetry.Source, error) {
	sources, err := s.exporters(ctx, exporter, log)
	if err != nil {
		return nil, err
	}
	for _, page := range s.Scrape {
		if named(sources, page.Name) {
			return nil, fmt.Errorf("--scrape: %s is the name of an exporter", page.Name)
		}
		page.Foreign = true
		sources = append(sources, page)
	}
	return sources, nil
}

func (s Settings) exporters(ctx context.Context, local string, log *slog.Logger) ([]telemetry.Source, error) {
	named, err := telemetry.Admitted(s.Telemetry, s.Access)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", AccessFlag, s.Access, err)
	}
	for _, source := range named {
		if err := telemetry.Probe(ctx, source); err != nil {
			return nil, fmt.Errorf("--telemetry: %s: %w%s", source.Name, err, s.lacks(source))
		}
	}
	if len(named) > 0 || local == "" {
		return named, nil
	}
	return unnamed(ctx, s.machine(ctx), local, exporterPort, log)
}

// lacks returns which credentials a protected page may need and the settings do not have.
func (s Settings) lacks(source telemetry.Source) string {
	if s.Access != "" || !strings.HasPrefix(source.URL, "https://") {
		return ""
	}
	return fmt.Sprintf(" (without --%s no password is sent, and no certificate of one's own is trusted)", AccessFlag)
}

// Into sets the folder and the manifest that everything is recorded in.
func (s *Scene) Into(f rundir.Folder, m *rundir.Manifest) {
	s.folder, s.manifest = f, m
	if s.container != nil {
		m.Container = &s.described
	}
}

// Follow begins to sample the sources on the clock of the run.
func (s *Scene) Follow(ctx context.Context, clock func() int64) error {
	if len(s.Sources) == 0 {
		return nil
	}
	var err error
	if s.snapshots, err = rundir.NewSnapshots(s.folder); err != nil {
		return err
	}
	s.sampler, err = telemetry.Start(context.WithoutCancel(ctx), telemetry.Options{
		Sources: s.Sources, Interval: s.settings.Interval,
		File: s.folder.Path(rundir.TelemetryFile), Clock: clock, Page: s.snapshots.Add, Away: s.away, Hide: s.redact(),
	})
	return err
}

// Enter marks the begin of a phase.
func (s *Scene) Enter(phase string) {
	if s.sampler != nil {
		s.sampler.Mark(phase)
	}
}

// Sample takes a sample of the machines now, where a load begins or ends within its phase.
func (s *Scene) Sample() {
	if s.sampler != nil {
		s.sampler.Sample()
	}
}

// Passed records a phase that has ended, immediately, so that the folder of a killed run can be read.
func (s *Scene) Passed(span rundir.Span) error {
	s.Spans = append(s.Spans, span)
	return s.folder.WriteJSON(rundir.PhasesFile, rundir.Phases{Schema: rundir.PhasesSchema, Phases: s.Spans})
}

// bordersSettle is how long a run settles if no page is sampled between the borders of phases. An engine counts a
// request shortly after its last byte.
const bordersSettle = 100 * time.Millisecond

// Settle waits for one telemetry interval, so that there are samples before and after the load.
func (s *Scene) Settle(stop context.Context) {
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

// Leave ends the telemetry.
func (s *Scene) Leave() error {
	if s.sampler == nil {
		return nil
	}
	stats, err := s.sampler.Stop()
	s.manifest.Telemetry = &stats
	return errors.Join(err, s.snapshots.Close())
}

// Log reads the telemetry back from the folder, so that a report shows what the folder holds. It is nil without
// telemetry.
func (s *Scene) Log() (*telemetry.Log, error) {
	if s.sampler == nil {
		return nil, nil
	}
	log, err := telemetry.Read(s.folder.Path(rundir.TelemetryFile))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	return log, nil
}

// Warnings returns the recording failures that do not fail the run.
func (s *Scene) Warnings() []string {
	w := captureWarnings(s.manifest.Captures)
	if c := s.manifest.Container; c != nil && c.LogError != "" {
		w = append(w, "--container: its log is not complete: "+c.LogError)
	}
	return w
}
