// Package docs holds the pages for people to what is there: every command of every page is executed, here or
// by a test that the page names, every output that is shown is held to what came, and every link, flag, verb, series and
// picture that a page names exists.
//
// A block of ```sh is what a reader types; a block of ```text after it is what the reader then sees. Comments of a
// page, each on a line of its own above a block, say what a reader is told in words:
//
//	<!-- run by: TestX in loadgen -->          the next block is run by that test, which reads this page
//	<!-- run by: .ci/run -->                   or by that script, which has each of its lines, word by word
//	<!-- page run by: TestX in loadgen -->     all blocks of the page that say nothing themselves
//	<!-- terminal engine: until 127.0.0.1:8000 -->   the next block stays, in a terminal of its own, and the page
//	                                           goes on when that address answers
//	<!-- ctrl-c in engine -->                  there the reader ends it
//	<!-- ends with 2 -->                       the next block ends with that code; all others with 0
//
// A block that says none of that is executed here, as a user would: see execute_test.go.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the top of the repository, from here.
const root = "../../.."

// block is a fenced block of a page, with what comments above it say.
type block struct {
	line     int
	language string
	text     string
	runBy    []string // tests or scripts that run it
	terminal string   // its name, if the block stays in one of its own
	until    string   // the address that then answers
	ends     string   // the exit code, "" for 0
	ctrlC    []string // terminals that are ended before it
}

// page is a file for people.
type page struct {
	path   string // from the root
	lines  []string
	blocks []block
	fenced []bool // by line: inside a block
	// ended are the terminals that are ended after the last block.
	ended []string
}

var (
	fence     = regexp.MustCompile("^( *)```(\\S*)\\s*$")
	comment   = regexp.MustCompile(`^\s*<!-- (.*) -->\s*$`)
	runBy     = regexp.MustCompile(`^(page )?run by: (.+)$`)
	terminal  = regexp.MustCompile(`^terminal ([a-z]+): until (127\.0\.0\.1:\d+)$`)
	ctrlC     = regexp.MustCompile(`^ctrl-c in ([a-z]+)$`)
	endsWith  = regexp.MustCompile(`^ends with (\d+)$`)
	directive = regexp.MustCompile(`^(page )?run by|^terminal |^ctrl-c|^ends with`)
)

// notOurs are pages of recordings and of other projects, which name nothing that a reader types.
var notOurs = regexp.MustCompile(`(^|/)testdata/|^dashboards/grafana/assets/`)

// pages are all that git has or would take.
func pages(t *testing.T) []page {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.md")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var all []page
	for _, path := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if notOurs.MatchString(path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) { // removed, and git has not been told yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		p, problems := parsePage(path, string(text))
		for _, problem := range problems {
			t.Error(problem)
		}
		all = append(all, p)
	}
	if len(all) < 20 {
		t.Fatalf("%d pages were found", len(all))
	}
	slices.SortFunc(all, func(a, b page) int { return strings.Compare(a.path, b.path) })
	return all
}

// comments are the comments since the block before.
type comments struct {
	block
	any bool
}

// parsePage reads a page. What it complains of are comments and fences that nobody would understand.
func parsePage(path, text string) (p page, problems []string) {
	p = page{path: path, lines: strings.Split(text, "\n")}
	p.fenced = make([]bool, len(p.lines))
	var whole []string
	var next comments
	problem := func(line int, text string) { problems = append(problems, path+":"+itoa(line)+": "+text) }
	for i := 0; i < len(p.lines); i++ {
		if m := comment.FindStringSubmatch(p.lines[i]); m != nil {
			if directive.MatchString(m[1]) && !next.take(m[1], &whole) {
				problem(i+1, "nobody understands <!-- "+m[1]+" -->")
			}
			continue
		}
		opened := fence.FindStringSubmatch(p.lines[i])
		if opened == nil {
			if strings.HasPrefix(strings.TrimSpace(p.lines[i]), "```") {
				problem(i+1, "a fence with more than its language")
			}
			continue
		}
		b := next.block
		b.line, b.language = i+1, opened[2]
		p.fenced[i] = true
		for i++; i < len(p.lines) && strings.TrimSpace(p.lines[i]) != "```"; i++ {
			p.fenced[i] = true
			b.text += strings.TrimPrefix(p.lines[i], opened[1]) + "\n"
		}
		if i == len(p.lines) {
			problem(b.line, "the block does not end")
			break
		}
		p.fenced[i] = true
		p.blocks, next = append(p.blocks, b), comments{}
	}
	p.ended = next.ctrlC
	if next.any && len(p.ended) == 0 {
		problem(len(p.lines), "no block comes after the last comment")
	}
	for i := range p.blocks {
		if b := &p.blocks[i]; b.command() && len(b.runBy) == 0 {
			b.runBy = whole
		}
	}
	return p, problems
}

// take reads a comment.
func (s *comments) take(text string, whole *[]string) bool {
	s.any = true
	if m := runBy.FindStringSubmatch(text); m != nil {
		by := strings.Split(m[2], "; ")
		if m[1] != "" {
			*whole, s.any = append(*whole, by...), false
		} else {
			s.runBy = append(s.runBy, by...)
		}
	} else if m := terminal.FindStringSubmatch(text); m != nil {
		s.terminal, s.until = m[1], m[2]
	} else if m := ctrlC.FindStringSubmatch(text); m != nil {
		s.ctrlC = append(s.ctrlC, m[1])
	} else if m := endsWith.FindStringSubmatch(text); m != nil {
		s.ends = m[1]
	} else {
		return false
	}
	return true
}

// longestDocument is what a reader searches without losing the way.
const longestDocument = 300

func TestNoDocumentIsLong(t *testing.T) {
	for _, p := range pages(t) {
		if lines := len(p.lines) - 1; lines > longestDocument {
			t.Errorf("%s has %d lines, at most %d: give it parts", p.path, lines, longestDocument)
		}
	}
}

// mostWordsOfReadme limits the front page before its links. Bars and rules of tables are no words.
const mostWordsOfReadme = 600

var wordLike = regexp.MustCompile(`\S*[\pL\d]\S*`)

func TestTheFrontPageIsShort(t *testing.T) {
	for _, p := range pages(t) {
		if p.path != "README.md" {
			continue
		}
		front, _, found := strings.Cut(strings.Join(p.lines, "\n"), "\n## Read on\n")
		if words := len(wordLike.FindAllString(front, -1)); !found || words > mostWordsOfReadme {
			t.Errorf("%d words before the links (%v), at most %d", words, found, mostWordsOfReadme)
		}
		return
	}
	t.Error("there is no README.md")
}

// command says whether a reader types the block.
func (b block) command() bool { return b.language == "sh" }

// commands are the lines of a block without the remarks behind them; a line that goes on is one with the next.
func (b block) commands() []string {
	var all []string
	for _, line := range strings.Split(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, "  #")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// here are the blocks that are executed here.
func (p page) here() []block {
	var all []block
	for _, b := range p.blocks {
		if b.command() && len(b.runBy) == 0 {
			all = append(all, b)
		}
	}
	return all
}
