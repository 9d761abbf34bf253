package cmd_test

import (
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// circumscribed are the words of texts for people that have a word of the field: a program shows, reports or counts; a
// request is preempted; a frame is dropped.
var circumscribed = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|tells|told|thrown (out|away)|says? nothing|knows? of|found no room)\b`)

// shownBy are the packages whose texts are helps of metrics, alerts with their runbooks, and panels.
var shownBy = []string{"exporter/metric", "alerts", "dashboards"}

// TestTextsOfMetricsAlertsAndPanelsAreInTheWordsOfTheField reads all their strings.
func TestTextsOfMetricsAlertsAndPanelsAreInTheWordsOfTheField(t *testing.T) {
	read := 0
	for _, s := range listSources(t) {
		if !slices.Contains(shownBy, filepath.ToSlash(filepath.Dir(s.path))) {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			read++
			if word := circumscribed.FindString(text); word != "" {
				t.Errorf("%s:%d: %q in: %s", s.path, s.set.Position(literal.Pos()).Line, word, text)
			}
			return true
		})
	}
	if read < 1000 {
		t.Errorf("only %d texts were read", read)
	}
}

// TestDocumentsAreInTheWordsOfTheField reads what is not code in them.
func TestDocumentsAreInTheWordsOfTheField(t *testing.T) {
	out, err := exec.Command("git", "-C", "..", "ls-files", "*.md").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	read := 0
	for _, path := range strings.Fields(string(out)) {
		if strings.Contains(path, "testdata/") || strings.Contains(path, "/assets/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", path))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		read++
		for i, line := range strings.Split(code.ReplaceAllStringFunc(string(text), lines), "\n") {
			if word := circumscribed.FindString(line); word != "" {
				t.Errorf("%s:%d: %q in: %s", path, i+1, word, line)
			}
		}
	}
	if read < 20 {
		t.Errorf("only %d documents were read", read)
	}
}

// code is a block or a span of it.
var code = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")

// lines keeps the line breaks of a text.
func lines(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }
