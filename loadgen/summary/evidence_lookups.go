package summary

import (
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// PrefixLookups returns the engine's counts of its prefix cache in the phases, which sent so many prompt tokens; nil
// where its counters are absent, or were reset. Hosts are the measured machines, that of the run first.
func PrefixLookups(log *telemetry.Log, simulated bool, hosts, phases []string, sent float64) *rundir.PrefixLookups {
	h := counters{log, simulated, hosts}.hits(phases, sent)
	if !h.Found.Known || !h.Looked.Known || h.Found.Reset || h.Looked.Reset {
		return nil
	}
	return &rundir.PrefixLookups{Tokens: h.Looked.Value, HitTokens: h.Found.Value}
}
