package summary

import (
	"time"

	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Made is when and with which programs a run was made.
type Made struct {
	// StartedAt is the start of the clock of the run, in UTC; absent where a file of another tool has none.
	StartedAt *time.Time `json:"started_at,omitempty"`
	// TimeZone is that of the machine that sent the load; absent for runs from before it was recorded.
	TimeZone *rundir.TimeZone `json:"time_zone,omitempty" pack:"-"`
	// Program is the uma-load that made the run.
	Program rundir.Program `json:"program"`
	// Engine and EngineVersion are as the server reported them, or as the log of a command did; absent where neither did.
	Engine        string `json:"engine,omitempty" pack:"word"`
	EngineVersion string `json:"engine_version,omitempty" pack:"version"`
	// PrefixCacheReset is true if the engine emptied its prefix cache before the load, false if it refused; absent if the
	// run did not ask for it.
	PrefixCacheReset *bool `json:"prefix_cache_reset,omitempty"`
}

// madeOf reads Made from the manifest.
func madeOf(m rundir.Manifest) *Made {
	made := Made{TimeZone: m.Client.TimeZone, Program: m.Program, Engine: m.Server.Engine, EngineVersion: m.EngineVersion(), PrefixCacheReset: m.PrefixCacheReset()}
	if !m.StartedAt.IsZero() {
		started := m.StartedAt.UTC()
		made.StartedAt = &started
	}
	if c := m.Command; c != nil {
		if made.EngineVersion = c.Version; c.Extractor != enginelog.None {
			made.Engine = c.Extractor
		}
	}
	return &made
}

// Local returns the start of the run in the time zone of the machine that sent its load, in UTC where that zone is
// unknown; false where the start is unknown.
func (m *Made) Local() (time.Time, bool) {
	switch {
	case m == nil || m.StartedAt == nil:
		return time.Time{}, false
	case m.TimeZone == nil:
		return m.StartedAt.UTC(), true
	}
	return m.StartedAt.In(time.FixedZone(m.TimeZone.Name, m.TimeZone.OffsetSeconds)), true
}
