package runner

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/traffic"
)

// RankRun is the folder of one rank.
type RankRun struct {
	rundir.Folder
	Manifest rundir.Manifest
	Phases   []rundir.Span
	// ShiftNS is added to the offsets of the rank, so that they count from the start of the whole.
	ShiftNS int64
}

func (p RankRun) rank() int { return p.Manifest.Rank.Rank }

// SharedRun is a run of several ranks that agree, merged into one: the same files as if one process had sent all
// requests, on one clock.
//
// Each duration of a request was measured by one process and stays as it is; so do all counts, and percentiles are
// recomputed from the requests. The position of requests of different ranks relative to each other depends on the wall
// clocks of several machines: totals per second, phases, the steady state, telemetry at a moment. The manifest has an
// upper bound of that error.
type SharedRun struct {
	// Parts are in the order of their ranks.
	Parts []RankRun
	// World is the number of ranks, Missing those that are not in Parts.
	World   int
	Missing []int
	// StartedAt is the start of the first rank: the offsets of the whole count from it.
	StartedAt time.Time
}

// OpenRanks reads the manifests of the folders and refuses those that are not ranks of one run. Every error begins with
// the folder at fault.
func OpenRanks(paths []string, allowMissing bool) (*SharedRun, error) {
	w := &SharedRun{}
	for _, path := range paths {
		part, err := openRank(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		w.Parts = append(w.Parts, part)
	}
	if len(w.Parts) == 0 {
		return nil, errors.New("no folder")
	}
	slices.SortStableFunc(w.Parts, func(a, b RankRun) int { return a.rank() - b.rank() })
	if err := w.agree(); err != nil {
		return nil, err
	}
	if err := w.checkLimits(); err != nil {
		return nil, fmt.Errorf("%s: %w", w.Parts[0].Folder, err)
	}
	if len(w.Missing) > 0 && !allowMissing {
		return nil, fmt.Errorf("%s: of its %d ranks %s missing; --allow-missing merges the others to a run that is invalid", w.Parts[0].Folder, w.World, numbered(w.Missing))
	}
	w.align()
	return w, nil
}

func openRank(path string) (RankRun, error) {
	p := RankRun{Folder: rundir.Folder(path)}
	if err := p.onlyFiles(); err != nil {
		return p, err
	}
	var err error
	if p.Manifest, err = p.ReadManifest(); err != nil {
		return p, err
	}
	m := p.Manifest
	switch {
	case m.Rank == nil || m.Rank.World < 2:
		return p, errors.New("it is no rank of a run (--rank, --world)")
	case m.Rank.Rank < 0 || m.Rank.Rank >= m.Rank.World || m.Rank.World > traffic.MaxWorld:
		return p, fmt.Errorf("it says that it is rank %d of %d", m.Rank.Rank, m.Rank.World)
	case m.Judging == nil || m.StartedAt.IsZero():
		return p, errors.New("it never began to send")
	case m.Rank.StartAt.Sub(m.StartedAt).Abs() > longestLead:
		return p, fmt.Errorf("it started at %s for a load that began at %s", m.StartedAt.UTC().Format(time.RFC3339), m.Rank.StartAt.UTC().Format(time.RFC3339))
	}
	p.Phases, err = p.ReadPhases()
	return p, err
}

// longestLead is more than any rank waits for the start of its load, at any clock error, and far less than the overflow
// of an offset.
const longestLead = 2 * traffic.MaxAhead

// onlyFiles refuses a folder in which a path of a file is not a regular file: reading a pipe would block forever.
func (p RankRun) onlyFiles() error {
	for _, name := range []string{rundir.ManifestFile, rundir.PhasesFile, rundir.ScheduleFile, rundir.RequestsFile, rundir.OutputsFile, rundir.TelemetryFile} {
		if info, err := os.Lstat(p.Path(name)); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", name)
		}
	}
	return nil
}

// checkLimits refuses limits that the rules cannot parse. All ranks have the same.
func (w *SharedRun) checkLimits() error {
	j := w.Parts[0].Manifest.Judging
	if _, err := summary.ParseLimits(j.Validity); err != nil {
		return fmt.Errorf("--validity: %w", err)
	}
	if j.SLO == "" {
		return nil
	}
	if _, err := summary.ParseSLO(j.SLO); err != nil {
		return fmt.Errorf("--slo: %w", err)
	}
	return nil
}

// agree compares each rank with the first and finds those that are missing.
func (w *SharedRun) agree() error {
	first := w.Parts[0]
	w.World = first.Manifest.Rank.World
	for i, part := range w.Parts[1:] {
		for _, e := range essentials() {
			if own, others := e.of(part.Manifest), e.of(first.Manifest); own != others {
				return fmt.Errorf("%s: its %s is %s, and that of %s is %s", part.Folder, e.name, own, first.Folder, others)
			}
		}
		if before := w.Parts[i]; before.rank() == part.rank() {
			return fmt.Errorf("%s: it is rank %d, and so is %s", part.Folder, part.rank(), before.Folder)
		}
	}
	for rank := range w.World {
		if !slices.ContainsFunc(w.Parts, func(p RankRun) bool { return p.rank() == rank }) {
			w.Missing = append(w.Missing, rank)
		}
	}
	return nil
}

// essential is a property that all ranks of a run have in common.
type essential struct {
	name string
	of   func(rundir.Manifest) string
}

// essentials returns them in an order in which the first difference is the best explanation: another seed makes another
// workload too.
func essentials() []essential {
	return []essential{
		{"world", func(m rundir.Manifest) string { return fmt.Sprint(m.Rank.World) }},
		{"start", func(m rundir.Manifest) string { return m.Rank.StartAt.UTC().Format(time.RFC3339Nano) }},
		{"scenario", func(m rundir.Manifest) string { return quoted(m.Scenario) }},
		{"arm", func(m rundir.Manifest) string { return quoted(m.Labels["arm"]) }},
		{"seed", func(m rundir.Manifest) string { return fmt.Sprint(m.Seed) }},
		{"model", func(m rundir.Manifest) string { return quoted(m.Server.Model) }},
		{"workload", func(m rundir.Manifest) string { return quoted(m.Workload.SHA256) }},
		{"--slo", func(m rundir.Manifest) string { return quoted(m.Judging.SLO) }},
		{"--validity", func(m rundir.Manifest) string { return quoted(strings.Join(m.Judging.Validity, " ")) }},
	}
}

// quoted makes an untrusted text fit for one line.
func quoted(text string) string { return fmt.Sprintf("%.100q", text) }

// align moves all parts to the clock of the one that started first.
func (w *SharedRun) align() {
	w.StartedAt = w.Parts[0].Manifest.StartedAt
	for _, p := range w.Parts {
		if p.Manifest.StartedAt.Before(w.StartedAt) {
			w.StartedAt = p.Manifest.StartedAt
		}
	}
	for i := range w.Parts {
		w.Parts[i].ShiftNS = w.Parts[i].Manifest.StartedAt.Sub(w.StartedAt).Nanoseconds()
	}
}

// numbered formats rank numbers: "rank 2 is", "ranks 1, 3 are".
func numbered(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d is", ranks[0])
	}
	return "ranks " + commaSeparated(ranks) + " are"
}

// mostNamed bounds the number of ranks in a message.
const mostNamed = 16

func commaSeparated(ranks []int) string {
	var names []string
	for _, rank := range ranks[:min(len(ranks), mostNamed)] {
		names = append(names, fmt.Sprint(rank))
	}
	if more := len(ranks) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
