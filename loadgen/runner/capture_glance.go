package runner

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// glancePatience is the interval of a glance. A page has nine tenths of it to answer. It is longer than the interval
// of a run: a run misses one late sample of many, and a glance has only one.
const glancePatience = 2 * time.Second

// Glance takes one sample of every source, before the run. The sampler writes files; these are written next to the
// run's files and removed at once. A source that hangs takes at most three times glancePatience: for its first sample,
// the sample at the border, and one that may be due before the end.
func (s *Capture) Glance(ctx context.Context) (*telemetry.Log, error) {
	dir, err := os.MkdirTemp("", "uma-load-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	start, file := time.Now(), filepath.Join(dir, rundir.TelemetryFile)
	sampler, err := telemetry.Start(ctx, telemetry.Options{
		Sources: s.Sources, Engines: supported.Engines(), Interval: glancePatience, File: file, Clock: func() int64 { return int64(time.Since(start)) }, Hide: s.redact(),
	})
	if err != nil {
		return nil, err
	}
	sampler.Mark(rundir.PhaseReady)
	if _, err := sampler.Stop(); err != nil {
		return nil, err
	}
	log, err := telemetry.Read(file)
	if err == nil {
		log.Engines = supported.Engines()
	}
	return log, err
}
