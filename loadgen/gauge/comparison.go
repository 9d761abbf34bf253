package gauge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
)

// ComparisonsFolder is where saved comparisons lie: in the folder of all runs, or in one of some of them.
const ComparisonsFolder = "comparisons"

// Bounds of the comparisons.
const (
	mostComparisons = 20
	mostBytes       = 64 << 20 // of a file
	mostRows        = 2000     // of one comparison
)

// comparison is what is kept of a saved comparison.
type comparison struct {
	Name      string
	Simulated bool
	Rows      []row
	left      int // rows that found no room
	modified  time.Time
}

// row is a metric of a candidate against the baseline.
type row struct {
	// Of is the comparison, with what tells its stratum from others of the same scenario and model.
	Of                                           string
	Metric, Baseline, Candidate, Scenario, Model string
	Verdict                                      string
	Confounded                                   bool
	Ratio, Lower, Upper                          *float64
}

// lookAtComparisons adds the newest ones.
func (s *Shelf) lookAtComparisons(shown *Shown, runs []string) {
	var all []savedFile
	for _, dir := range s.foldersOf(runs) {
		found, err := savedIn(filepath.Join(dir, ComparisonsFolder))
		if err != nil {
			shown.problem(err)
		}
		all = append(all, found...)
	}
	paths := newestFiles(all)
	s.comparisons = refresh(paths, s.comparisons, stampOfFile, openComparison)
	for _, path := range paths {
		k := s.comparisons[path]
		switch {
		case errors.Is(k.err, fs.ErrNotExist): // it went away meanwhile
		case k.err != nil:
			shown.problem(k.err)
		default:
			shown.Comparisons = append(shown.Comparisons, k.what)
			if k.what.left > 0 {
				shown.problem(fmt.Errorf("%s: %d rows found no room", path, k.what.left))
			}
		}
	}
	slices.SortStableFunc(shown.Comparisons, func(a, b comparison) int { return b.modified.Compare(a.modified) })
}

// foldersOf are the root and the folders below it that runs lie in.
func (s *Shelf) foldersOf(runs []string) []string {
	root := filepath.Clean(s.Root)
	all := []string{root}
	seen := map[string]bool{root: true}
	for _, path := range runs {
		for dir := filepath.Dir(path); !seen[dir] && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			seen[dir] = true
			all = append(all, dir)
		}
	}
	return all
}

// savedFile is a comparison on disk.
type savedFile struct {
	path string
	at   time.Time
}

// savedIn are the comparisons of a folder; none where there is no folder.
func savedIn(dir string) ([]savedFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var all []savedFile
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && strings.HasSuffix(entry.Name(), ".json") && !strings.HasPrefix(entry.Name(), ".") {
			all = append(all, savedFile{filepath.Join(dir, entry.Name()), info.ModTime()})
		}
	}
	return all, nil
}

// newestFiles are as many as are shown, each name once: a folder may be a copy.
func newestFiles(all []savedFile) []string {
	slices.SortFunc(all, func(a, b savedFile) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path)) })
	var paths []string
	taken := map[string]bool{}
	for _, f := range all {
		if name := filepath.Base(f.path); !taken[name] && len(paths) < mostComparisons {
			taken[name] = true
			paths = append(paths, f.path)
		}
	}
	return paths
}

// openComparison reads a saved comparison.
func openComparison(path string) (comparison, error) {
	file, err := os.Open(path)
	if err != nil {
		return comparison{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return comparison{}, err
	}
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		err = fmt.Errorf("longer than %d MiB", mostBytes>>20)
	}
	var kept comparison
	if err == nil {
		kept, err = parseComparison(strings.TrimSuffix(filepath.Base(path), ".json"), text)
	}
	if err != nil {
		return comparison{}, fmt.Errorf("%s: %w", path, err)
	}
	kept.modified = info.ModTime()
	return kept, nil
}

func parseComparison(name string, text []byte) (comparison, error) {
	var c compare.Comparison
	if err := json.Unmarshal(text, &c); err != nil {
		return comparison{}, err
	}
	if c.Schema != compare.Schema {
		return comparison{}, fmt.Errorf("its form is %q and not %q", c.Schema, compare.Schema)
	}
	return ofComparison(name, c), nil
}

// ofComparison keeps what is shown of a comparison.
func ofComparison(name string, c compare.Comparison) comparison {
	kept := comparison{Name: shown(name), Simulated: c.Simulated}
	taken := map[string]bool{}
	for _, stratum := range c.Strata {
		of := shown(strings.Join(append([]string{name}, furtherCells(stratum.Within)...), " "))
		for _, pair := range stratum.Pairs {
			for _, m := range pair.Metrics {
				r := newRow(of, stratum.Within, pair, m)
				key := fmt.Sprintf("%q", []string{r.Of, r.Metric, r.Baseline, r.Candidate, r.Scenario, r.Model})
				if taken[key] || len(kept.Rows) == mostRows {
					kept.left++
					continue
				}
				taken[key] = true
				kept.Rows = append(kept.Rows, r)
			}
		}
	}
	return kept
}

// furtherCells names what a stratum is of beside scenario and model, which have labels of their own.
func furtherCells(within map[string]string) []string {
	var cells []string
	for name, value := range within {
		if name != string(metric.LabelScenario) && name != string(metric.LabelModel) {
			cells = append(cells, name+"="+value)
		}
	}
	slices.Sort(cells)
	return cells
}

// engineReported begins the name of what an engine says of itself.
const engineReported = "engine_reported_"

// metricName keeps what an engine says of itself from what was measured, which has the same name.
func metricName(m compare.Metrics) string {
	if m.EngineReported && !strings.HasPrefix(m.Name, engineReported) {
		return engineReported + m.Name
	}
	return m.Name
}

func newRow(of string, within map[string]string, pair compare.Pair, m compare.Metrics) row {
	r := row{
		Of: of, Metric: shown(metricName(m)), Baseline: shown(pair.A), Candidate: shown(pair.B),
		Scenario: shown(within[string(metric.LabelScenario)]), Model: shown(within[string(metric.LabelModel)]),
		Verdict: shown(string(m.Verdict)), Confounded: m.Confounded, Ratio: m.Ratio,
	}
	if m.RatioCI95 != nil {
		r.Lower, r.Upper = &m.RatioCI95[0], &m.RatioCI95[1]
	}
	return r
}
