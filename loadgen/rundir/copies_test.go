package rundir

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

func TestACopyIsTheFolderThatIsNotCalledLikeItsRun(t *testing.T) {
	began := time.Date(2026, 11, 1, 10, 0, 0, 5, time.UTC)
	const later = time.Second
	at := func(path string, after time.Duration) Place { return Place{path, "r1", began.Add(after)} }
	for name, c := range map[string]struct {
		all  []Place
		want map[string]string
	}{
		"one folder":                    {[]Place{at("runs/r1", 0)}, nil},
		"a copy beside it":              {[]Place{at("runs/r1", 0), at("runs/r1 (copy)", 0)}, map[string]string{"runs/r1 (copy)": "runs/r1"}},
		"a copy that sorts before":      {[]Place{at("runs/Copy of r1", 0), at("runs/r1", 0)}, map[string]string{"runs/Copy of r1": "runs/r1"}},
		"a copy in a folder of its own": {[]Place{at("runs/backup/r1", 0), at("runs/r1", 0)}, map[string]string{"runs/backup/r1": "runs/r1"}},
		"two copies":                    {[]Place{at("a/r1", 0), at("b/r1", 0), at("c/r1.old", 0)}, map[string]string{"b/r1": "a/r1", "c/r1.old": "a/r1"}},
		"no folder with the name":       {[]Place{at("runs/y", 0), at("runs/x", 0)}, map[string]string{"runs/y": "runs/x"}},
		"another run of the name":       {[]Place{at("a/r1", 0), at("b/r1", later)}, nil},
		"another run, and a copy":       {[]Place{at("a/r1", 0), at("b/r1", later), at("b/r1~", later)}, map[string]string{"b/r1~": "b/r1"}},
		"another zone of the same time": {[]Place{at("a/r1", 0), {"b/r1", "r1", began.In(time.FixedZone("", 3600))}}, map[string]string{"b/r1": "a/r1"}},
	} {
		if got := Copies(c.all); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		rand.Shuffle(len(c.all), func(i, k int) { c.all[i], c.all[k] = c.all[k], c.all[i] })
		if got := Copies(c.all); !maps.Equal(got, c.want) {
			t.Errorf("%s, in another order: %v, want %v", name, got, c.want)
		}
	}
}
