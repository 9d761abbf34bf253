package report

import (
	"cmp"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// Names of facts about how a run was made.
const (
	factStarted = "started"
	factEngine  = "engine"
	factProgram = "uma-load"
	factCache   = "prefix cache"
)

// madeFacts returns when and with which programs a run was made.
func madeFacts(m *summary.Made) []render.Fact {
	if m == nil {
		return nil
	}
	var facts []render.Fact
	if at, known := m.Local(); known {
		facts = append(facts, fact(factStarted, moment(at)))
	}
	if engine := engineText(m); engine != "" {
		facts = append(facts, fact(factEngine, engine))
	}
	if facts = append(facts, fact(factProgram, programText(m))); m.PrefixCacheReset != nil {
		text := "emptied before the load"
		if !*m.PrefixCacheReset {
			text = "not emptied before the load: the engine refused"
		}
		facts = append(facts, fact(factCache, text))
	}
	return facts
}

// madeText returns the same in one line.
func madeText(m *summary.Made) string {
	var parts []string
	for _, f := range madeFacts(m) {
		if f.Name == factProgram || f.Name == factCache {
			f.Value = f.Name + " " + f.Value
		}
		parts = append(parts, f.Value)
	}
	return strings.Join(parts, ", ")
}

// moment formats a date with its time zone, such as 2026-11-23 15:53:39 CET (UTC+01:00).
func moment(at time.Time) string {
	name, offset := at.Zone()
	if offset == 0 && name == "UTC" {
		return at.Format("2006-01-02 15:04:05 UTC")
	}
	return at.Format("2006-01-02 15:04:05 ") + name + at.Format(" (UTC-07:00)")
}

// engineText returns the engine with its version; empty where it is unknown.
func engineText(m *summary.Made) string {
	if m.Engine == "" {
		return ""
	}
	return m.Engine + " " + cmp.Or(m.EngineVersion, "of a version that it does not report")
}

// shortRevision is the number of characters of a revision that are shown.
const shortRevision = 12

// programText returns the version of uma-load, with its revision where the version does not include it.
func programText(m *summary.Made) string {
	version, revision := cmp.Or(m.Program.Version, "of unknown version"), m.Program.Revision
	short := revision[:min(len(revision), shortRevision)]
	if short == "" || short == "unknown" || strings.Contains(version, short) {
		return version
	}
	return version + ", revision " + short
}

// period returns the range of the starts of the runs of a group, by the clock of the first.
func (g Group) period() []render.Fact {
	var first, last time.Time
	for _, m := range g.Members {
		if m.Summary == nil {
			continue
		}
		at, known := m.Summary.Made.Local()
		if !known {
			continue
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	from, to := moment(first), moment(last.In(first.Location()))
	if first.IsZero() || from == to { // the common facts have it
		return nil
	}
	return []render.Fact{fact(factStarted, from+" to "+to)}
}
