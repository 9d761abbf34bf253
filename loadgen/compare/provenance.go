package compare

import (
	"fmt"
	"slices"
	"strings"
)

// fact is one of the run; false if it has none of that name.
func (r *Run) fact(item string) (Fact, bool) {
	if i := slices.IndexFunc(r.Facts, func(f Fact) bool { return f.Item == item }); i >= 0 {
		return r.Facts[i], true
	}
	return Fact{}, false
}

// token stands for the whole of a value, what is shown of it and what is not.
func (f Fact) token() string {
	if f.Hash == "" {
		return f.Value
	}
	return f.Value + "\x00" + f.Hash
}

// recording are the runs that record what ran.
func recording(runs []*Run) []*Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.HashKey == "" })
}

// hashKeys are the keys of the hashes of runs, in the order of the runs.
func hashKeys(runs []*Run) []string {
	var keys []string
	for _, r := range recording(runs) {
		if !slices.Contains(keys, r.HashKey) {
			keys = append(keys, r.HashKey)
		}
	}
	return keys
}

// anyFact says whether something holds of an item in any run.
func anyFact(runs []*Run, item string, holds func(Fact) bool) bool {
	return slices.ContainsFunc(runs, func(r *Run) bool {
		f, has := r.fact(item)
		return has && holds(f)
	})
}

// labels are what values that are not shown are called: value 1, value 2, in the order of the runs; given, where all are
// equal.
type labels map[string]string

func labelsOf(all ...facts) labels {
	l := labels{}
	var tokens []string
	for _, f := range all {
		for _, one := range f.all {
			if _, known := l[one.token()]; one.Hash != "" && !known {
				tokens = append(tokens, one.token())
				l[one.token()] = ""
			}
		}
	}
	for i, token := range tokens {
		shown, _, _ := strings.Cut(token, "\x00")
		switch {
		case len(tokens) > 1:
			l[token] = strings.TrimPrefix(fmt.Sprintf("%s, value %d", shown, i+1), ", ")
		case shown != "":
			l[token] = shown
		default:
			l[token] = "given"
		}
	}
	return l
}

// of is what a value is called: itself, where it is shown.
func (l labels) of(token string) string {
	if name, hidden := l[token]; hidden {
		return name
	}
	return token
}

// ranDiffers lists what the runs of an arm were made with and that differs between runs of one model and scenario. Only
// hashes of one key are compared.
func ranDiffers(runs []*Run) []string {
	type group struct{ model, scenario, key string }
	var items []string
	for _, item := range itemsOf(runs) {
		if !anyFact(runs, item, func(f Fact) bool { return f.Ran }) {
			continue
		}
		among, identified := runs, anyFact(runs, item, func(f Fact) bool { return f.Identified })
		if identified {
			among = recording(runs)
		}
		seen := map[group]string{}
		for _, r := range among {
			f, has := r.fact(item)
			g := group{r.Label(labelModel), r.Label(labelScenario), ""}
			if identified {
				g.key = r.HashKey
			} else if !has {
				continue // nothing says what it was
			}
			token := notGiven
			if has {
				token = f.token()
			}
			if first, known := seen[g]; known && first != token {
				items = append(items, item)
				break
			}
			seen[g] = token
		}
	}
	return items
}

// ranWarning says that runs of one arm were not made alike.
func ranWarning(name string, differ []string) []Warning {
	if len(differ) == 0 {
		return nil
	}
	return []Warning{warn(CodeRanDiffers, "runs of %s differ in what ran: %s; they are no ground for a decision", name, some(differ))}
}

// hashKeyWarning says that hashes of different keys are not compared, and that runs do not record what ran.
func hashKeyWarning(a, b *arm) []Warning {
	both := slices.Concat(a.valid, b.valid)
	keys, recorded := hashKeys(both), recording(both)
	var all []Warning
	if len(keys) > 1 {
		all = append(all, warn(CodeHashKeysDiffer, "what ran is hashed by %d keys (%s): options that are not listed, environment, files, images and plans are not compared; runs of one campaign, or of one results folder, share a key",
			len(keys), some(keys)))
	}
	if missing := len(both) - len(recorded); missing > 0 && len(recorded) > 0 {
		all = append(all, warn(CodeRanUnknown, "%s of %d do not record what ran: they are not taken for equal", Runs(missing), len(both)))
	}
	return all
}
