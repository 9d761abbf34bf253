package promexport

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/runfile"
)

// ComparisonsFolder is the folder of saved comparisons: in the folder of all runs, or in a folder with some of them.
const ComparisonsFolder = "comparisons"

// Bounds of the comparisons.
const (
	mostComparisons = 20
	mostBytes       = 64 << 20 // of a file
	mostPairs       = 200      // of one comparison; the limit of strata is the same
	mostRows        = 1000     // of one comparison
	mostSeries      = 20_000   // of one comparison
	mostSeriesInAll = 40_000   // of all comparisons: a scrape has a limit, and a page above it loses the runs too
)

// comparison is the exported part of a saved comparison.
type comparison struct {
	Name      string
	Simulated bool
	Rows      []row
	path      string
	names     []string // values of the label comparison
	series    []series
	left      int // rows and series dropped (limit)
	modified  time.Time
}

// Saved returns the time when the comparison was saved, for display.
func (c comparison) Saved() string { return c.modified.UTC().Format(time.DateTime) }

// lookAtComparisons adds the newest comparisons.
func (s *Results) lookAtComparisons(shown *Shown, runs []string) {
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
		case errors.Is(k.err, fs.ErrNotExist): // deleted meanwhile
		case k.err != nil:
			shown.problem(k.err)
		default:
			shown.Comparisons = append(shown.Comparisons, k.what)
			if k.what.left > 0 {
				shown.problem(fmt.Errorf("%s: %d figures found no room", path, k.what.left))
			}
		}
	}
	slices.SortStableFunc(shown.Comparisons, func(a, b comparison) int { return b.modified.Compare(a.modified) })
	shown.boundComparisons()
}

// boundComparisons drops comparisons that exceed the limits after newer ones, or whose names are taken: files of two
// names may have the same printable name.
func (s *Shown) boundComparisons() {
	taken, room := map[string]bool{}, mostSeriesInAll
	s.Comparisons = slices.DeleteFunc(s.Comparisons, func(c comparison) bool {
		switch {
		case slices.ContainsFunc(c.names, func(name string) bool { return taken[name] }):
			s.problem(fmt.Errorf("%s: another comparison has its name; that is shown", c.Name))
			return true
		case len(c.series) > room:
			s.problem(fmt.Errorf("%s: newer comparisons left no room for its %d series", c.Name, len(c.series)))
			return true
		}
		for _, name := range c.names {
			taken[name] = true
		}
		room -= len(c.series)
		return false
	})
}

// foldersOf returns the root and the folders below it that have runs.
func (s *Results) foldersOf(runs []string) []string {
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

// savedIn returns the comparisons of a folder; none where there is no folder.
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

// newestFiles returns the newest files up to the limit, each name once: a folder may be a copy.
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

// openComparison reads the exported part of a saved comparison.
func openComparison(path string) (comparison, error) {
	c, saved, err := readComparison(path)
	if err != nil {
		return comparison{}, err
	}
	kept := ofComparison(strings.TrimSuffix(filepath.Base(path), ".json"), c, saved)
	kept.path = path
	return kept, nil
}

// readComparison reads a saved comparison, and when it was saved.
func readComparison(path string) (c compare.Comparison, saved time.Time, err error) {
	text, err := runfile.Read(path, mostBytes)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(path)
	}
	if err == nil {
		c, err = parseComparison(text)
	}
	if err != nil {
		return compare.Comparison{}, saved, fmt.Errorf("%s: %w", path, err)
	}
	return c, info.ModTime(), nil
}

func parseComparison(text []byte) (compare.Comparison, error) {
	var c compare.Comparison
	if err := json.Unmarshal(text, &c); err != nil {
		return c, err
	}
	if c.Schema != compare.Schema {
		return c, fmt.Errorf("its form is %q and not %q", c.Schema, compare.Schema)
	}
	return c, nil
}
