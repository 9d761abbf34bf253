package sim

import (
	"testing"
	"time"
)

// TestWhatWasUsedOftenGoesFirstByGenerationsIfItWasLongAgo: a file that was read three times, and after it another one once;
// then memory is needed. Which of the two has to make room is what the two ways of the kernel differ in.
func TestWhatWasUsedOftenGoesFirstByGenerationsIfItWasLongAgo(t *testing.T) {
	for _, c := range []struct {
		generations bool
		gone, stays string
	}{{false, "new", "old"}, {true, "old", "new"}} {
		host := newHost(t, Config{Generations: c.generations})
		for _, name := range []string{"old", "new"} {
			if err := host.AddFile(name, 30*gib); err != nil {
				t.Fatal(err)
			}
		}
		reader := start(t, host, "cat", "/user.slice/reader.scope")
		for _, name := range []string{"old", "", "old", "", "old", "new"} {
			reader.Demand(Demand{Read: FileTransfer{name, 10 * gib}})
			host.Advance(4 * time.Second)
		}
		engine := start(t, host, "engine", "/user.slice/engine.scope")
		engine.Demand(Demand{DeviceBytes: 72 * gib})
		host.Advance(time.Second)
		left := map[string]int64{}
		for _, name := range []string{"old", "new"} {
			left[name] = host.Truth().CachedBytes[name]
		}
		if left[c.stays] != 30*gib || left[c.gone] > 25*gib || left[c.gone] == 0 {
			t.Errorf("by generations %v: %.1f GiB of the old file are left and %.1f of the new one",
				c.generations, float64(left["old"])/float64(gib), float64(left["new"])/float64(gib))
		}
	}
}
