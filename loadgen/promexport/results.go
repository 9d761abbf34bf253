package promexport

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// maxAge is the default of Results.MaxAge.
const maxAge = 5 * time.Second

// Results reads the folders of finished runs and holds the exported data.
type Results struct {
	// Root is the folder with the runs below it; comparisons are in folders next to them.
	Root string
	// PerCell and Most are the limits of the number of runs: of a cell, and in all.
	PerCell, Most int
	// MaxAge is the maximum age of the served data: an earlier scrape gets the data of the last one.
	MaxAge time.Duration
	// Now is the clock.
	Now func() time.Time

	find func(root string) ([]string, error) // lists the folders of runs
	open func(path string) (Run, error)      // reads one

	mutex       sync.Mutex
	looked      time.Time
	runs        map[string]kept[Run]
	comparisons map[string]kept[comparison]
	shown       *Shown
}

// New returns the results below a folder, by the clock of the machine.
func New(root string, perCell, most int) *Results {
	return &Results{Root: root, PerCell: perCell, Most: most, MaxAge: maxAge, Now: time.Now, find: findRuns, open: openRun}
}

// findRuns lists the runs below a folder, which may have none yet.
func findRuns(root string) ([]string, error) {
	found, err := summary.Find([]string{root})
	if errors.Is(err, summary.ErrNoRun) {
		return nil, nil
	}
	return found, err
}

func openRun(path string) (Run, error) {
	r, err := summary.Open(path)
	if err != nil {
		return Run{}, err
	}
	return Of(compare.FromRun(r), r.Summary), nil
}

// kept is the result of reading a file, or the files of a folder.
type kept[T any] struct {
	stamp string // sizes and times of the files
	what  T
	err   error
}

// Shown is the exported data, the newest first.
type Shown struct {
	// All are all runs, Runs those that are exported as series.
	All, Runs   []Run
	Comparisons []comparison
	// Scores are keyed by run and by metric.
	Scores                          map[string]map[string]float64
	LeftOut, Unfinished, Unreadable int
	Problems                        []string
}

// Look reads the current data, unless it did so less than MaxAge ago. A file that cannot be read becomes a problem;
// the rest is exported.
func (s *Results) Look() *Shown {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if now := s.Now(); s.shown == nil || now.Sub(s.looked) >= s.MaxAge || now.Before(s.looked) {
		s.shown, s.looked = s.look(), now
	}
	return s.shown
}

func (s *Results) look() *Shown {
	shown := &Shown{Scores: map[string]map[string]float64{}}
	paths, err := s.find(s.Root)
	if err != nil {
		shown.problem(err)
	}
	s.runs = refresh(paths, s.runs, stampOfRun, s.open)
	shown.All = s.sort(shown, paths)
	s.choose(shown, shown.All)
	s.lookAtComparisons(shown, paths)
	return shown
}

// mostProblems bounds the problems that are listed; all are counted.
const mostProblems = 50

func (s *Shown) problem(err error) {
	if len(s.Problems) < mostProblems {
		s.Problems = append(s.Problems, shown(err.Error()))
	}
}

// leaveOut counts a run that is not exported, and lists the reason.
func (s *Shown) leaveOut(why error) {
	s.LeftOut++
	s.problem(why)
}

// refresh reads what changed since the last time, on all cores.
func refresh[T any](paths []string, before map[string]kept[T], stamp func(string) string, open func(string) (T, error)) map[string]kept[T] {
	results := make([]kept[T], len(paths))
	next := make(chan int)
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		running.Go(func() {
			for i := range next {
				k := kept[T]{stamp: stamp(paths[i])}
				if old, there := before[paths[i]]; there && old.stamp == k.stamp {
					k = old
				} else {
					k.what, k.err = open(paths[i])
				}
				results[i] = k
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	running.Wait()
	after := make(map[string]kept[T], len(paths))
	for i, path := range paths {
		after[path] = results[i]
	}
	return after
}

// stampOfRun returns a stamp that changes with the files of a run that are read.
func stampOfRun(path string) string {
	return stampOfFile(filepath.Join(path, rundir.ManifestFile)) + " " + stampOfFile(filepath.Join(path, rundir.SummaryFile))
}

func stampOfFile(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%d@%d", info.Size(), info.ModTime().UnixNano())
}

// sort returns the readable runs, the newest first and each name once. Copies of runs are left out.
func (s *Results) sort(shown *Shown, paths []string) []Run {
	var all []Run
	for _, path := range paths {
		switch k := s.runs[path]; {
		case k.err == nil:
			k.what.Folder = path
			all = append(all, k.what)
		case errors.Is(k.err, summary.ErrUnfinished), errors.Is(k.err, summary.ErrShare): // it goes on, was killed, or is a part
			shown.Unfinished++
		default:
			shown.Unreadable++
			shown.problem(k.err)
		}
	}
	var places []rundir.Place
	for _, r := range all {
		places = append(places, rundir.Place{Path: r.Folder, Run: r.info.run, StartedAt: r.started})
	}
	copies := rundir.Copies(places)
	slices.SortStableFunc(all, newer)
	taken := map[string]string{}
	return slices.DeleteFunc(all, func(r Run) bool {
		if original, is := copies[r.Folder]; is {
			shown.leaveOut(rundir.CopyError{Path: r.Folder, Original: original})
			return true
		}
		if first, twice := taken[r.info.run]; twice {
			shown.leaveOut(fmt.Errorf("%s: a newer run, in %s, has the same name %s; that is shown", r.Folder, first, r.info.run))
			return true
		}
		taken[r.info.run] = r.Folder
		return false
	})
}

// choose selects the newest runs of every cell, and scores each against those before it.
func (s *Results) choose(shown *Shown, all []Run) {
	peers := map[cell][]Run{} // newest first
	for _, r := range all {
		if r.valid {
			peers[r.peers()] = append(peers[r.peers()], r)
		}
	}
	count := map[cell]int{}
	for _, r := range all {
		if count[r.cell()] >= s.PerCell || len(shown.Runs) >= s.Most {
			shown.LeftOut++
			continue
		}
		count[r.cell()]++
		shown.Runs = append(shown.Runs, r)
		if !r.valid {
			continue // figures of an invalid run must not be used
		}
		of := peers[r.peers()]
		at := slices.IndexFunc(of, func(p Run) bool { return p.info.run == r.info.run })
		shown.Scores[r.info.run] = score(r, of[at+1:])
	}
}

// Check returns an error if the root cannot be read.
func (s *Results) Check() error {
	_, err := os.ReadDir(s.Root)
	return err
}

// Run returns the run of that name.
func (s *Shown) Run(name string) (Run, bool) {
	i := slices.IndexFunc(s.All, func(r Run) bool { return r.info.run == name })
	if i < 0 {
		return Run{}, false
	}
	return s.All[i], true
}

// Comparison reads the saved comparison of that name; its error is fs.ErrNotExist if there is none.
func (s *Shown) Comparison(name string) (compare.Comparison, error) {
	i := slices.IndexFunc(s.Comparisons, func(c comparison) bool { return c.Name == name })
	if i < 0 {
		return compare.Comparison{}, fs.ErrNotExist
	}
	c, _, err := readComparison(s.Comparisons[i].path)
	return c, err
}
