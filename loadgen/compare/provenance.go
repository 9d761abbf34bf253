package compare

import (
	"fmt"
	"slices"
	"strings"
)

// fact returns the fact of a name; false if the run has none.
func (r *Run) fact(item string) (Fact, bool) {
	if i := slices.IndexFunc(r.Facts, func(f Fact) bool { return f.Item == item }); i >= 0 {
		return r.Facts[i], true
	}
	return Fact{}, false
}

// token identifies the whole of a value: the shown part and the hash of the hidden part.
func (f Fact) token() string {
	if f.Hash == "" {
		return f.Value
	}
	return f.Value + "\x00" + f.Hash
}

// recording returns the runs that record what ran.
func recording(runs []*Run) []*Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.HashKey == "" })
}

// hashKeys returns the keys of the hashes of runs, in the order of the runs.
func hashKeys(runs []*Run) []string {
	return distinctOf(runs, func(r *Run) string { return r.HashKey })
}

// anyFact reports whether holds is true for the fact of an item in any run.
func anyFact(runs []*Run, item string, holds func(Fact) bool) bool {
	return slices.ContainsFunc(runs, func(r *Run) bool {
		f, has := r.fact(item)
		return has && holds(f)
	})
}

// labels name the values that are not shown: value 1, value 2, in the order of the runs; given, where all are equal.
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

// of returns the name of a value: the value itself, where it is shown.
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
				continue // the run has no record of it
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

// ranWarning warns of runs of one arm that were not made alike.
func ranWarning(name string, differ []string) []Warning {
	if len(differ) == 0 {
		return nil
	}
	return []Warning{warn(CodeRanDiffers, "runs of %s differ in what ran: %s; they are no ground for a decision", name, some(differ))}
}

// hashKeyWarning warns of hashes of different keys, which are not compared, and of runs that do not record what ran.
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
