package hostfs

import (
	"slices"
	"strings"
	"testing"
)

func TestProcessesOfACgroupAreThoseTheReaderCanSee(t *testing.T) {
	got, err := CgroupProcesses(files(t, map[string]string{"a.scope/cgroup.procs": "6330\n0\n6331\n0\n"}), "/a.scope")
	if err != nil || !slices.Equal(got, []uint32{6330, 6331}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"6330\n63", "-1\n", "4294967296\n", "6330 6331\n", "\n"} {
		if got, err := parsePIDs(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, err := parsePIDs(""); err != nil || len(got) != 0 {
		t.Errorf("an empty cgroup: %v, %v", got, err)
	}
}

func FuzzPIDs(f *testing.F) {
	addSeeds(f, "6330\n6331\n", "0\n0\n4294967295\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		pids, err := parsePIDs(text)
		if err != nil {
			return
		}
		if len(pids) > strings.Count(text, "\n") || slices.Contains(pids, 0) {
			t.Errorf("%v of %q", pids, text)
		}
		if err := partOfSlice(parsePIDs)(text, text[:min(int(cut), len(text))]); err != nil {
			t.Error(err)
		}
	})
}
