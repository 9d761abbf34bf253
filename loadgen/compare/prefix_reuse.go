package compare

import (
	"fmt"
	"math"
)

// FactPrefixReuse is the share of prompt tokens that a prefix cache answered beyond what the schedule repeats, in per cent.
// Two arms that differ by more than PrefixReuseTolerance points are not compared by the same work.
const (
	FactPrefixReuse      = "prompt tokens from a cache beyond the schedule"
	PrefixReuseTolerance = 1
)

// reuseDiffers says how far the caches of two arms were warm, if one was by more than the tolerance; empty otherwise, or
// where it is not known of one.
func reuseDiffers(a, b *arm) string {
	x, y := factsOf(a.valid, FactPrefixReuse, false).numbers(), factsOf(b.valid, FactPrefixReuse, false).numbers()
	if len(x) == 0 || len(y) == 0 || math.Abs(mean(x)-mean(y)) <= PrefixReuseTolerance {
		return ""
	}
	return fmt.Sprintf("prompt tokens from a prefix cache beyond the schedule: %s of %s, %s of %s", percent(mean(x)), a.name, percent(mean(y)), b.name)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", v) }

// reuseGrounds are why the runs of an arm are no ground for a decision, by how warm its cache was and that of the
// baseline; of the baseline, and that of any other arm.
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

// reuseWarning tells when the cache of one arm was warmer than that of the other.
func reuseWarning(a, b *arm) []Warning {
	if text := reuseDiffers(a, b); text != "" {
		return []Warning{warn(CodePrefixReuse, "%s: a difference may be that of the cache", text)}
	}
	return nil
}
