package rundir

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RetentionRule selects the runs to remove.
type RetentionRule struct {
	// Keep is how many of the newest runs are kept; negative disables the rule.
	Keep int
	// OlderThan is the least age of a run that is removed; 0 disables the rule.
	OlderThan time.Duration
}

// RetentionChoice is the decision about a run.
type RetentionChoice struct {
	Entry
	Goes bool
	// Why is the reason that the run is kept or removed.
	Why string
}

// Choose decides about each run, the newest first. Both rules have to agree. Runs that must be kept in any case do not
// count among the newest.
func (r RetentionRule) Choose(all []Entry, now time.Time) []RetentionChoice {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Or(entryStart(b).Compare(entryStart(a)), cmp.Compare(a.Path, b.Path)) })
	var choices []RetentionChoice
	place := 0
	for _, e := range all {
		c := RetentionChoice{Entry: e, Why: mustStay(e)}
		if c.Why == "" {
			place++
			c.Goes, c.Why = r.goes(e, place, now)
		}
		choices = append(choices, c)
	}
	return choices
}

func entryStart(e Entry) time.Time {
	if e.StartedAt == nil {
		return time.Time{}
	}
	return *e.StartedAt
}

// mustStay returns why no rule may remove a run; empty if a rule may.
func mustStay(e Entry) string {
	switch {
	case e.Pinned:
		return "pinned"
	case e.State == EntryRunning:
		return fmt.Sprintf("it goes on, or was killed less than %s ago", QuietPeriod)
	case e.State == EntryUnreadable || e.StartedAt == nil:
		return "it cannot be read: " + e.Problem
	case e.Group != "":
		return "of " + e.Group + ", which is kept whole"
	case e.CopyOf != "":
		return "a copy of " + e.CopyOf + ", which you may remove by hand"
	case len(e.Foreign) > 0:
		return "it has files that no run writes: " + strings.Join(e.Foreign[:min(3, len(e.Foreign))], ", ")
	default:
		return ""
	}
}

// goes decides about a run that may be removed, by its place among such runs.
func (r RetentionRule) goes(e Entry, place int, now time.Time) (bool, string) {
	age := now.Sub(entryStart(e))
	switch {
	case r.Keep >= 0 && place <= r.Keep:
		return false, fmt.Sprintf("among the newest %d", r.Keep)
	case r.OlderThan > 0 && age <= r.OlderThan:
		return false, "not old enough"
	case r.Keep < 0 && r.OlderThan == 0:
		return false, "no rule"
	default:
		return true, fmt.Sprintf("%.0f days old", age.Hours()/24)
	}
}

// Remove removes a chosen run, unless a file was written into it since it was examined.
func (c RetentionChoice) Remove(now time.Time) error {
	again := Entry{Path: c.Path, State: c.State}
	if err := again.Measure(c.Path, now); err != nil {
		return err
	}
	if again.Pinned || again.written != c.written || len(again.Foreign) > 0 {
		return fmt.Errorf("%s: it was written into just now", c.Path)
	}
	return remove(c.Path)
}

// SortByStart sorts the oldest run first.
func SortByStart(all []Entry) []Entry {
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Or(entryStart(a).Compare(entryStart(b)), cmp.Compare(a.Path, b.Path)) })
	return all
}
