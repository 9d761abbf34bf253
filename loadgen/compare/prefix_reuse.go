package compare

import (
	"fmt"
	"math"
)

// FactPrefixReuse is the share of prompt tokens that a prefix cache answered beyond what the schedule repeats, in per cent.
// Arms that differ by more than PrefixReuseTolerance points had caches of different warmth.
const (
	FactPrefixReuse      = "prompt tokens from a cache beyond the schedule"
	PrefixReuseTolerance = 1
)

// reuseDiffers returns the shares of two arms in words, if they differ by more than the tolerance; empty if not, or if an
// arm has none.
func reuseDiffers(a, b *arm) string {
	x, y := factsOf(a.valid, FactPrefixReuse, false).numbers(), factsOf(b.valid, FactPrefixReuse, false).numbers()
	if len(x) == 0 || len(y) == 0 || math.Abs(mean(x)-mean(y)) <= PrefixReuseTolerance {
		return ""
	}
	return fmt.Sprintf("prompt tokens from a prefix cache beyond the schedule: %s of %s, %s of %s", percent(mean(x)), a.name, percent(mean(y)), b.name)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", v) }

// reuseGrounds returns why the warmth of caches keeps the runs of an arm from decision grade. Each arm is compared with the
// baseline, and the baseline with each arm.
func (c *comparing) reuseGrounds(cell *cell, name string) []string {
	base := cell.arm(c.arms[0])
	for _, other := range c.arms[1:] {
		if name != base.name && name != other {
			continue
		}
		if text := reuseDiffers(base, cell.arm(other)); text != "" {
			return []string{text}
		}
	}
	return nil
}

// reuseWarning warns of arms whose caches had different warmth.
func reuseWarning(a, b *arm) []Warning {
	if text := reuseDiffers(a, b); text != "" {
		return []Warning{warn(CodePrefixReuse, "%s: a difference may be that of the cache", text)}
	}
	return nil
}

// resetWarning warns of arms of which one began with an emptied prefix cache.
func resetWarning(a, b *arm) []Warning {
	x, y := resetsOf(a.valid), resetsOf(b.valid)
	if len(a.valid) == 0 || len(b.valid) == 0 || x == y {
		return nil
	}
	return []Warning{warn(CodeCacheReset, "the engine emptied its prefix cache before %s of %s, %s of %s: a difference may be that of the cache", x, a.name, y, b.name)}
}

// resetsOf describes before how many of the runs the engine emptied its prefix cache.
func resetsOf(runs []*Run) string {
	reset := 0
	for _, r := range runs {
		if r.CacheReset {
			reset++
		}
	}
	switch reset {
	case 0:
		return "no run"
	case len(runs):
		return "every run"
	}
	return fmt.Sprintf("%d of %d runs", reset, len(runs))
}
