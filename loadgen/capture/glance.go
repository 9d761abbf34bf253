package capture

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// glancePatience is the interval of a glance, of which a page has nine tenths to answer. It is not that of a run: there a page
// that is late is missed once among many, and here nobody looks again.
const glancePatience = 2 * time.Second

// Glance takes one sample of every source, before the run. The sampler writes files, so this one is
// written beside the run's and removed at once. A source that hangs costs three times the patience at most: its first
// sample, that of the border, and one that may be due before the end.
func (s *Scene) Glance(ctx context.Context) (*telemetry.Log, error) {
	dir, err := os.MkdirTemp("", "uma-load-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	start, file := time.Now(), filepath.Join(dir, rundir.TelemetryFile)
	sampler, err := telemetry.Start(ctx, telemetry.Options{
		Sources: s.Sources, Interval: glancePatience, File: file, Clock: func() int64 { return int64(time.Since(start)) }, Hide: s.redact(),
	})
	if err != nil {
		return nil, err
	}
	sampler.Mark(rundir.PhaseReady)
	if _, err := sampler.Stop(); err != nil {
		return nil, err
	}
	return telemetry.Read(file)
}
