package cmd_test

import (
	"regexp"
	"strings"
	"testing"
)

// riddles are words with which comments circumscribe what has a name or a verb of the field.
var riddles = regexp.MustCompile(`(?i)\b(says?|said|tells?|told|knows?|nobody|somebody|whoever|stands?|besides?)\b`)

// mostRiddles is how many there may be in 1,000 lines of comments: Prometheus v0.315.0 and client_golang v1.25.0 have 4 to 5
// by this measure, procfs v0.23.0 has 1. A few of ours name an identifier.
const mostRiddles = 10.

func TestCommentsAreInTheWordsOfTheField(t *testing.T) {
	lines, found := 0, map[string]int{}
	total := 0
	for _, s := range listSources(t) {
		for _, group := range s.file.Comments {
			for _, comment := range group.List {
				lines += 1 + strings.Count(comment.Text, "\n")
				n := len(riddles.FindAllString(comment.Text, -1))
				total += n
				if n > 0 {
					found[s.path] += n
				}
			}
		}
	}
	if lines < 1000 {
		t.Fatalf("only %d lines of comments were read", lines)
	}
	if rate := 1000 * float64(total) / float64(lines); rate > mostRiddles {
		t.Errorf("%.1f words of riddles in 1,000 lines of comments, at most %v: %v", rate, mostRiddles, found)
	}
}
