package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func itoa(i int) string { return strconv.Itoa(i) }

// languages are the allowed languages of a block; a reader types sh only, and applies a diff. A block without a language does not show
// whether to type it.
var languages = map[string]bool{"sh": true, "text": true, "yaml": true, "promql": true, "ini": true, "json": true, "diff": true}

var testIn = regexp.MustCompile(`^(Test\w+) in ([a-z/_-]+)$`)

// TestEveryCommandOfEveryPageIsExecuted: here, or by a test or script that exists and has to do with the page. There is
// no third way.
func TestEveryCommandOfEveryPageIsExecuted(t *testing.T) {
	here, elsewhere := 0, 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if !languages[b.language] {
				t.Errorf("%s:%d: a block of %q: say sh for what is typed, text for what is shown", p.path, b.line, b.language)
			}
			if !b.command() {
				continue
			}
			if len(b.runBy) == 0 {
				here += len(b.commands())
				continue
			}
			elsewhere += len(b.commands())
			for _, by := range b.runBy {
				if why := disproved(p, b, by); why != "" {
					t.Errorf("%s:%d: run by %s: %s", p.path, b.line, by, why)
				}
			}
		}
	}
	t.Logf("%d commands are executed here, %d by tests and scripts that the pages name", here, elsewhere)
	if here < 20 || elsewhere < 40 {
		t.Errorf("%d and %d were found", here, elsewhere)
	}
}

// disproved says why a block is not run by what it says.
func disproved(p page, b block, by string) string {
	if strings.HasPrefix(by, ".ci/") {
		return notInScript(p, b, by)
	}
	m := testIn.FindStringSubmatch(by)
	if m == nil {
		return "neither a test in a package nor a script in .ci"
	}
	files, err := filepath.Glob(filepath.Join(root, m[2], "*_test.go"))
	if err != nil || len(files) == 0 {
		return "there is no test in " + m[2]
	}
	exists, reads := false, false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err.Error()
		}
		exists = exists || strings.Contains(string(text), "\nfunc "+m[1]+"(t *testing.T)")
		relative, err := filepath.Rel(m[2], p.path)
		if err != nil {
			return err.Error()
		}
		reads = reads || strings.Contains(string(text), `"`+filepath.ToSlash(relative)+`"`)
	}
	switch {
	case !exists:
		return "there is no such test"
	case !reads:
		return "no test there reads this page"
	}
	return ""
}

// notInScript says which line of the block a script does not have. A script of .ci stands where the top of the repository is,
// and may start programs that are built. A script that has the page's path as page, and types it, needs none of the lines.
func notInScript(p page, b block, script string) string {
	text, err := os.ReadFile(filepath.Join(root, script))
	if err != nil {
		return err.Error()
	}
	if strings.Contains(string(text), "\npage="+p.path+"\n") && strings.Contains(string(text), ` type "$page" `) {
		return ""
	}
	for _, line := range b.commands() {
		if !strings.Contains(string(text), line) {
			return "it has no " + line
		}
	}
	return ""
}

func TestAClaimThatIsNoneIsFound(t *testing.T) {
	text := "<!-- run by: TestThatThereIsNot in loadgen -->\n```sh\na\n```\n<!-- run by: TestTheKeysOfThePageOnCampaignsAreThere in loadgen -->\n```sh\nb\n```\n" +
		"<!-- run by: .ci/lint -->\n```sh\nc --invented\n```\n<!-- run by: somebody -->\n```sh\nd\n```\n<!-- ctrl-c elsewhere -->\n```sh\ne\n```\n"
	p, problems := parsePage("x.md", text)
	if len(p.blocks) != 5 || len(problems) != 1 || len(p.here()) != 1 {
		t.Fatalf("%d blocks, problems %q", len(p.blocks), problems)
	}
	for _, b := range p.blocks[:4] {
		if disproved(p, b, b.runBy[0]) == "" {
			t.Errorf("%s is believed", b.runBy[0])
		}
	}
	p.path = "loadgen/campaign/README.md"
	if why := disproved(p, p.blocks[1], p.blocks[1].runBy[0]); why != "" {
		t.Errorf("a test that reads the page: %s", why)
	}
}

// FuzzPage: whatever a page has, each block has a line in it, no line is in two, and a page within quotes of another is no page.
func FuzzPage(f *testing.F) {
	f.Add("```sh\na\n```\n")
	f.Add("- x\n\n  ```text\n  b\n  ```\n<!-- ends with 2 -->\n```sh\nfalse\n```\n")
	f.Add("<!-- terminal engine: until 127.0.0.1:8000 -->\n```sh\n```\n<!-- ctrl-c in engine -->\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, _ := parsePage("x.md", text)
		last := 0
		for _, b := range p.blocks {
			if b.line <= last || b.line > len(p.lines) || !p.fenced[b.line-1] {
				t.Errorf("a block in line %d after one in %d, of %d", b.line, last, len(p.lines))
			}
			if last = b.line + strings.Count(b.text, "\n"); last > len(p.lines) {
				t.Errorf("the block ends in line %d of %d", last, len(p.lines))
			}
		}
	})
}
