package plan

import (
	"slices"
	"strings"

	"github.com/umascope/umascope/cmd/terminal"
)

// orNearest continues an error about an unknown word: with the most similar known word, else with all of them if they
// are few.
func orNearest(word string, known []string) string {
	switch best := terminal.Nearest(word, known); {
	case best != "":
		return "; did you mean " + best + "?"
	case len(known) > 0 && len(known) <= 30:
		sorted := slices.Sorted(slices.Values(known))
		return "; there are " + strings.Join(sorted, ", ")
	default:
		return ""
	}
}
