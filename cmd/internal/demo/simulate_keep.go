package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// keptComparisons is how many saved comparisons are kept. All of them are of the same runs: older ones only show how
// verdicts came about.
const keptComparisons = 12

// compare compares the arms over all runs that are kept.
func (s *simulation) compare(ctx context.Context) error {
	code, message := s.load(ctx, []string{"compare", s.options.runs, "--by", "arm", "--within", "scenario", "--baseline", baselineArm, "--save"})
	if code != exitDone {
		return errors.New(message)
	}
	return nil
}

// nextTurn returns the number of the turn to go on with: the one after the last finished turn, or the same turn if it
// was interrupted. It skips folders that it cannot read, as prune does; a run without a turn label is an error, since
// prune would remove it some day.
func nextTurn(runs string) (number int, err error) {
	found, err := summary.Find([]string{runs})
	if errors.Is(err, summary.ErrNoRun) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, o := range summary.OpenAll(found) {
		if o.Err != nil {
			continue
		}
		last, err := strconv.Atoi(o.Run.Manifest.Labels[turnLabel])
		if err != nil || last < 0 {
			return 0, fmt.Errorf("%s is no run of the simulation, which removes older runs: name a folder of its own", filepath.Base(o.Path))
		}
		if o.Run.Manifest.State == rundir.StateComplete {
			last++
		}
		number = max(number, last)
	}
	return number, nil
}

// tidy removes runs and comparisons older than those to keep. It removes none while a run is there that the simulation
// did not make.
func (s *simulation) tidy(ctx context.Context) error {
	if _, err := nextTurn(s.options.runs); err != nil {
		return err
	}
	code, message := s.load(ctx, []string{"runs", "prune", "--runs", s.options.runs, "--keep", strconv.Itoa(s.options.keep), "--yes"})
	if code != exitDone && ctx.Err() == nil {
		return errors.New(message)
	}
	return tidyComparisons(filepath.Join(s.options.runs, promexport.ComparisonsFolder), keptComparisons)
}

// tidyComparisons keeps the newest comparisons of the arms. Their names begin with the time; other files stay.
func tidyComparisons(dir string, keep int) error {
	entries, err := os.ReadDir(dir) // in order of names
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ours := slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !strings.Contains(e.Name(), "-arm-"+baselineArm+"-") || !strings.HasSuffix(e.Name(), ".json")
	})
	for _, old := range ours[:max(0, len(ours)-keep)] {
		err = errors.Join(err, os.Remove(filepath.Join(dir, old.Name())))
	}
	return err
}

// checkRuns checks that runs can be written.
func checkRuns(runs string) error {
	err := os.MkdirAll(runs, 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(runs, ".probe-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("--runs %s: %w", runs, cause(err))
	}
	return nil
}
