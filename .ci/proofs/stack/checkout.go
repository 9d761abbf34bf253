package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// checkout is a copy of the working tree, as in a fresh clone. Files that users create in their checkout are created in
// it.
type checkout struct {
	folder string
	note   string
}

func (c checkout) path(names ...string) string {
	return filepath.Join(append([]string{c.folder}, names...)...)
}

// compose is the folder of the stack.
func (c checkout) compose(names ...string) string {
	return c.path(append([]string{"compose"}, names...)...)
}

// copyCheckout copies the tracked files and the new ones that git does not ignore, with uncommitted changes.
func copyCheckout(ctx context.Context, from, to string) (checkout, error) {
	c := checkout{folder: to}
	list := exec.CommandContext(ctx, "git", "-C", from, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	out, err := list.Output()
	if err != nil {
		return c, fmt.Errorf("git ls-files: %w", err)
	}
	files := 0
	for _, name := range strings.Split(string(bytes.TrimRight(out, "\x00")), "\x00") {
		content, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return c, err
		}
		about, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			return c, err
		}
		if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o755); err != nil {
			return c, err
		}
		if err := os.WriteFile(c.path(name), content, about.Mode().Perm()); err != nil {
			return c, err
		}
		files++
	}
	// Containers run as other users and need access to the files that they mount; the parent folder is private to this
	// user.
	c.note = fmt.Sprintf("%d files", files)
	return c, os.Chmod(filepath.Dir(to), 0o711)
}

// change is the replacement of a text in a file, with its reason.
type change struct{ old, new, why string }

// tellSimulated makes, in the copy, an alertmanager.yml that sends alerts of simulated hosts, as alerts/README.md
// describes, and returns the differences from the shipped one. A text to replace that is missing is an error: the file
// has changed.
func (c checkout) tellSimulated(inbox string) (note string, err error) {
	path := c.path("alerts", "alertmanager.yml")
	shipped, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := string(shipped)
	for _, one := range []change{
		{"  - receiver: none\n    matchers:\n    - mode!=\"\"\n    - mode!=\"live\"\n",
			"", "nobody is told of what is simulated (alerts/README.md: to be told, remove the first route)"},
		{"url_file: /run/secrets/alert-receiver", "url: " + inbox, "the profile sim has no secret"},
		{"group_wait: 15s", "group_wait: 1s", "the proof has minutes"},
	} {
		if strings.Count(text, one.old) != 1 {
			return "", fmt.Errorf("%s has not once %q, which is to be replaced (%s)", path, one.old, one.why)
		}
		text = strings.Replace(text, one.old, one.new, 1)
		note += fmt.Sprintf("changed in the copy of alerts/alertmanager.yml, since %s:\n%s%s", one.why, marked("- ", one.old), marked("+ ", one.new))
	}
	return strings.TrimRight(note, "\n"), os.WriteFile(path, []byte(text), 0o644)
}

// restore brings the shipped file back.
func (c checkout) restore(from string, names ...string) error {
	shipped, err := os.ReadFile(filepath.Join(append([]string{from}, names...)...))
	if err != nil {
		return err
	}
	return os.WriteFile(c.path(names...), shipped, 0o644)
}

// marked puts a mark before every line.
func marked(mark, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + mark + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
