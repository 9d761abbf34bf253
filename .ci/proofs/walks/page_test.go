package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// TestTheDiffsOfThePageApply finds the change that breaks a walk, before the proof types it.
func TestTheDiffsOfThePageApply(t *testing.T) {
	text, err := os.ReadFile(root + "/.github/WALKS.md")
	if err != nil {
		t.Fatal(err)
	}
	walks, err := parsePage(string(text))
	if err != nil || len(walks) != 3 {
		t.Fatalf("%d walks, %v", len(walks), err)
	}
	for _, w := range walks {
		var all strings.Builder
		commands := 0
		for _, s := range w.steps {
			all.WriteString(s.diff)
			if s.command != "" {
				commands++
			}
		}
		if len(w.files) == 0 || all.Len() == 0 || commands == 0 {
			t.Errorf("walk %s: %d files, %d bytes of diffs, %d commands", w.name, len(w.files), all.Len(), commands)
			continue
		}
		git := exec.Command("git", "-C", root, "apply", "--check", "-")
		git.Stdin = strings.NewReader(all.String())
		if out, err := git.CombinedOutput(); err != nil {
			t.Errorf(".github/WALKS.md: walk %s: the diff does not apply: %s", w.name, firstLine(string(out)))
		}
	}
}

func TestAWalkIsItsFilesDiffsAndCommands(t *testing.T) {
	walks, err := parsePage("# Page\n- `no`\n## Walk one: x\n\n- `a/b.go`: c\n\n```diff\n+d\n```\n```sh\nls\npwd\n```\n```text\n/…\n```\n## After\n- `no`\n")
	if err != nil || len(walks) != 1 {
		t.Fatalf("%+v, %v", walks, err)
	}
	w := walks[0]
	if w.name != "one" || !slices.Equal(w.files, []string{"a/b.go"}) || len(w.steps) != 3 || w.steps[0].diff != "+d\n" || w.steps[1].command != "ls" ||
		w.steps[2].command != "pwd" || w.steps[2].line != 12 || !slices.Equal(w.steps[2].shown, []string{"/…"}) {
		t.Errorf("%+v", w)
	}
	for _, wrong := range []string{"```text\nx\n```\n", "```sh\nx\n", "```go\nx\n```\n", "```diff\n+\n```\n```text\nx\n```\n"} {
		if _, err := parsePage("## Walk one: x\n" + wrong); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
}

func TestAMissingLineIsNamed(t *testing.T) {
	const output = "a  1\nb 2\nc 3 %\n"
	for _, c := range []struct {
		shown []string
		want  string
	}{
		{nil, ""},
		{[]string{"a 1", "c … %"}, ""},
		{[]string{"…2"}, ""},
		{[]string{"c 3 %", "a 1"}, "a 1"},
		{[]string{"b"}, "b"},
	} {
		if got := missing(c.shown, output); got != c.want {
			t.Errorf("%q: missing %q, want %q", c.shown, got, c.want)
		}
	}
}

func TestTheCauseOfAFailureIsOneLine(t *testing.T) {
	for output, want := range map[string]string{
		"ok  \ta\t1s\n--- FAIL: TestX (0.00s)\n    x_test.go:3: no y\nFAIL\n": "TestX: x_test.go:3: no y",
		"# a/b\nb/c.go:3:4: undefined: d\n":                                   "b/c.go:3:4: undefined: d",
		"one\nlast\n":                                                         "last",
	} {
		if got := cause(output); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}

// FuzzPage: a block is in at most one step, in the order of the page, and an output shows itself.
func FuzzPage(f *testing.F) {
	f.Add("## Walk a: b\n- `c`\n```diff\n+d\n```\n```sh\ne\n```\n```text\nf\n```\n")
	f.Fuzz(func(t *testing.T, text string) {
		walks, err := parsePage(text)
		if err != nil {
			return
		}
		last := 0
		for _, w := range walks {
			for _, s := range w.steps {
				if s.line <= last || s.line > strings.Count(text, "\n")+1 || (s.diff == "") == (s.command == "") && s.diff != "" {
					t.Errorf("step %+v after line %d", s, last)
				}
				last = s.line
				if !strings.Contains(strings.Join(s.shown, ""), "…") && missing(s.shown, strings.Join(s.shown, "\n")) != "" {
					t.Errorf("%q does not show itself", s.shown)
				}
			}
		}
	})
}
