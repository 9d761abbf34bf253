package terminal

import "strings"

// Nearest returns the candidate that was probably meant by a word, empty if none is similar: at most one letter in
// three is different, missing, added, or swapped with the next one. It ignores case.
func Nearest(word string, known []string) string {
	typed := []rune(strings.ToLower(word))
	best, least := "", 1+max(1, len(typed)/3)
	for _, candidate := range known {
		if d := distance(typed, []rune(strings.ToLower(candidate))); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the edits between two words: optimal string alignment.
func distance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0:
				rows[i][j] = j
			case j == 0:
				rows[i][j] = i
			default:
				rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+unequal(a[i-1], b[j-1]))
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
				}
			}
		}
	}
	return rows[len(a)][len(b)]
}

func unequal(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}
