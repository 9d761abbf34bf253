package summary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/umascope/umascope/loadgen/rundir"
)

// Bounds of a search. Runs of a sweep are in a folder of the sweep, those of a campaign below the folder of all
// campaigns, and a pack has its runs in one more.
const (
	mostDeep = 8
	mostRuns = 100_000
)

// ErrNoRun is returned for a path that has no run, in itself or below.
var ErrNoRun = errors.New("no folder of a run")

// noFolder is the error for a path that does not exist.
type noFolder string

func (n noFolder) Error() string {
	return string(n) + ": no such folder; uma-load run makes runs below runs/, or below --out"
}

func (noFolder) Unwrap() error { return fs.ErrNotExist }

// Find lists the folders of runs among the paths and below them, each once and in the order of their paths. It does not
// search the folder of a run; it skips names that begin with a dot, since half-written folders have such names. A path
// without a run is an error.
func Find(paths []string) ([]string, error) {
	var all []string
	seen := map[string]bool{}
	for _, path := range paths {
		found, err := findBelow(path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: %w: none here or below has a %s; uma-load run makes one", path, ErrNoRun, rundir.ManifestFile)
		}
		for _, one := range found {
			place, err := filepath.EvalSymlinks(one)
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted meanwhile
			}
			if err == nil {
				place, err = filepath.Abs(place)
			}
			if err != nil {
				return nil, err
			}
			if !seen[place] {
				seen[place] = true
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// findBelow searches one path, which may be a link.
func findBelow(root string) ([]string, error) {
	if info, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return nil, noFolder(root)
	} else if err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s: it is no folder", root)
	}
	root = filepath.Clean(root)
	if isRun(root) {
		return []string{root}, nil
	}
	var found []string
	// With the slash, WalkDir enters a link given by the user.
	err := filepath.WalkDir(root+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
		path = filepath.Clean(path)
		switch {
		case path == root && err == nil:
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return nil // deleted meanwhile
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case strings.HasPrefix(entry.Name(), "."), strings.Count(path[len(root):], string(filepath.Separator)) > mostDeep:
			return fs.SkipDir
		case !isRun(path):
			return nil
		}
		if found = append(found, path); len(found) > mostRuns {
			return fmt.Errorf("%s: more than %d runs", root, mostRuns)
		}
		return fs.SkipDir
	})
	return found, err
}

// isRun reports whether a folder has a manifest. A manifest that is a link or not a regular file counts too: opening it
// returns an error that names it.
func isRun(path string) bool {
	_, err := os.Lstat(filepath.Join(path, rundir.ManifestFile))
	return err == nil
}

// Opened is the result of opening a folder.
type Opened struct {
	Path string
	Run  Run
	Err  error
}

// OpenAll opens folders on all cores. The result has the order of the paths.
func OpenAll(paths []string) []Opened {
	all := make([]Opened, len(paths))
	next := make(chan int)
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		running.Go(func() {
			for i := range next {
				r, err := Open(paths[i])
				all[i] = Opened{paths[i], r, err}
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	running.Wait()
	return all
}

// Load finds and opens runs, in the order of their start. Runs that are unfinished, damaged or deleted meanwhile are
// left out, with the folder and the reason in skipped, and so are copies of runs (rundir.CopyError). Two different runs
// of one name are an error.
func Load(paths []string) (runs []Run, skipped []error, err error) {
	found, err := Find(paths)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range OpenAll(found) {
		if o.Err != nil {
			skipped = append(skipped, o.Err)
			continue
		}
		runs = append(runs, o.Run)
	}
	runs, copies, err := WithoutCopies(runs)
	if err != nil {
		return nil, nil, err
	}
	skipped = append(skipped, copies...)
	slices.SortStableFunc(runs, func(a, b Run) int { return a.Manifest.StartedAt.Compare(b.Manifest.StartedAt) })
	return runs, skipped, nil
}

// WithoutCopies separates the copies of runs from their originals: a comparison must not count a run twice. The order
// stays. Two different runs of one name are an error.
func WithoutCopies(all []Run) (runs []Run, copies []error, err error) {
	var places []rundir.Place
	for _, r := range all {
		places = append(places, rundir.Place{Path: string(r.Folder), Run: r.Manifest.Run, StartedAt: r.Manifest.StartedAt})
	}
	originals, at := rundir.Copies(places), map[string]string{}
	for i, r := range all {
		place := places[i]
		if original, is := originals[place.Path]; is {
			copies = append(copies, rundir.CopyError{Path: place.Path, Original: original})
			continue
		}
		if first, twice := at[place.Run]; twice {
			return nil, nil, fmt.Errorf("%s: its run is called %q, and so is another run, in %s: name one of the two folders only", place.Path, place.Run, first)
		}
		at[place.Run] = place.Path
		runs = append(runs, r)
	}
	return runs, copies, nil
}
