package plan

import (
	"slices"
	"strings"
)

// orNearest continues an error about a word that is none of those it may be: the one that was probably
// meant, else all of them if they are few.
func orNearest(word string, known []string) string {
	best, least := "", max(2, len(word)/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	switch {
	case best != "":
		return "; did you mean " + best + "?"
	case len(known) > 0 && len(known) <= 30:
		sorted := slices.Sorted(slices.Values(known))
		return "; there are " + strings.Join(sorted, ", ")
	default:
		return ""
	}
}

// distance is how many characters have to be added, removed or changed to turn one word into the
// other; long words are far from everything.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
