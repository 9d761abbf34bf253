package collector

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

func TestSentenceOfWhatCanBeAllocated(t *testing.T) {
	gibs := func(f float64) int64 { return int64(f * gib) }
	for name, c := range map[string]struct {
		of   Allocatable
		want string
	}{
		"page cache": {NewAllocatable(gibs(119.6), gibs(1.3), 0, gibs(30.5)),
			"CUDA reports 1.3 GiB free; up to 30.5 GiB if page cache is given up (not tried on a GB10); fit grants 23.3, since machines were seen to die below 7 of 119 GiB"},
		"CMA": {NewAllocatable(gibs(121.7), gibs(108), gibs(9.3), gibs(113)),
			"CUDA reports 108.0 GiB free, 9.3 of it in CMA, which a driver cannot pin; up to 103.7 GiB if page cache is given up (not tried on a GB10); fit grants 96.4, since machines were seen to die below 7 of 119 GiB"},
		"the kernel keeps some": {NewAllocatable(gibs(100), gibs(20), 0, gibs(18)),
			"CUDA reports 20.0 GiB free; up to 18.0 GiB if page cache is given up (not tried on a GB10; the kernel keeps 2.0 in reserve); fit grants 12.0, since machines were seen to die below 7 of 119 GiB"},
		"nothing is granted": {NewAllocatable(gibs(121.7), gibs(1), 0, gibs(6)),
			"CUDA reports 1.0 GiB free; up to 6.0 GiB if page cache is given up (not tried on a GB10); fit grants 0.0, since machines were seen to die below 7 of 119 GiB"},
		"all that is available is in CMA": {NewAllocatable(gibs(121.7), gibs(9), gibs(9.3), gibs(8)),
			"CUDA reports 9.0 GiB free, 9.0 of it in CMA, which a driver cannot pin; up to 0.0 GiB if page cache is given up (not tried on a GB10); fit grants 0.0, since machines were seen to die below 7 of 119 GiB"},
	} {
		if got := c.of.Sentence(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestTheDefaultReserveIsAboveTheFloor on pools of any size: fit must not grant what a machine was seen to die of.
func TestTheDefaultReserveIsAboveTheFloor(t *testing.T) {
	for pool := int64(gib); pool < 130*gib; pool += gib / 2 {
		a := NewAllocatable(pool, 0, 0, pool)
		if died := metric.AlertThresholds().Died.Of(pool); a.Reserve < died {
			t.Errorf("of %d bytes %d are the reserve, and a machine died with %d", pool, a.Reserve, died)
		}
	}
}

// FuzzAllocatable asserts what holds for any figures: no part is negative or more than its whole.
func FuzzAllocatable(f *testing.F) {
	f.Add(int64(121*gib), int64(108*gib), int64(9*gib), int64(113*gib))
	f.Add(int64(0), int64(-1), int64(1), int64(0))
	f.Fuzz(func(t *testing.T, pool, free, cma, available int64) {
		a := NewAllocatable(pool, free, cma, available)
		if a.FreeCMA < 0 || a.FreeCMA > max(0, free) || a.UpTo < 0 || a.UpTo > max(0, pool) || a.UpTo > max(0, available) || a.Granted() < 0 || a.Granted() > a.UpTo && a.Reserve >= 0 {
			t.Errorf("%+v of %d, %d, %d, %d", a, pool, free, cma, available)
		}
		if text := a.Sentence(); !strings.HasPrefix(text, "CUDA reports ") || strings.Contains(text, "\n") {
			t.Errorf("%q", text)
		}
	})
}
