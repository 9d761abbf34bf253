package rundir

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Place is a run and the folder that it was found in.
type Place struct {
	Path, Run string
	StartedAt time.Time
}

// CopyError is the error for the folder of a run that another folder has too.
type CopyError struct{ Path, Original string }

func (e CopyError) Error() string {
	return fmt.Sprintf("%s: it is a copy of the run in %s", e.Path, e.Original)
}

// Copies returns the folders that hold a run which another of the folders holds too, each with the path of the
// original. Runs of one name that began at different times are different runs. The original is the folder that is
// called like its run, and of several such folders the one that is least deep.
func Copies(all []Place) map[string]string {
	type identity struct {
		run   string
		start int64
	}
	of := func(p Place) identity { return identity{p.Run, p.StartedAt.UnixNano()} }
	originals := map[identity]Place{}
	for _, p := range all {
		if known, twice := originals[of(p)]; !twice || p.compare(known) < 0 {
			originals[of(p)] = p
		}
	}
	copies := map[string]string{}
	for _, p := range all {
		if original := originals[of(p)]; original.Path != p.Path {
			copies[p.Path] = original.Path
		}
	}
	return copies
}

// compare sorts the likelier original first.
func (p Place) compare(o Place) int {
	renamed := func(p Place) int {
		if filepath.Base(p.Path) == p.Run {
			return 0
		}
		return 1
	}
	deep := func(p Place) int { return strings.Count(filepath.Clean(p.Path), string(filepath.Separator)) }
	return cmp.Or(cmp.Compare(renamed(p), renamed(o)), cmp.Compare(deep(p), deep(o)), cmp.Compare(p.Path, o.Path))
}
