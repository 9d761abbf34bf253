package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#{1,6} +(.+?) *$`)
	span    = regexp.MustCompile("`[^`]+`")
	target  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
)

// anchors are the headings of a page as GitHub names them, and those that it names itself.
func (p page) anchors() map[string]bool {
	all := map[string]bool{}
	for i, line := range p.lines {
		if p.fenced[i] {
			continue
		}
		for _, m := range target.FindAllStringSubmatch(line, -1) {
			all[m[1]] = true
		}
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := link.ReplaceAllString(m[1], "$2")
		name = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(name), "")
		name = strings.ReplaceAll(name, " ", "-")
		for unique, i := name, 1; ; i++ {
			if !all[unique] {
				all[unique] = true
				break
			}
			unique = name + "-" + itoa(i)
		}
	}
	return all
}

// TestEveryLinkOfEveryPageLeadsSomewhere: files, folders and headings of the repository. A picture has a description in
// words.
func TestEveryLinkOfEveryPageLeadsSomewhere(t *testing.T) {
	all := pages(t)
	anchors := map[string]map[string]bool{}
	for _, p := range all {
		anchors[p.path] = p.anchors()
	}
	seen, pictures := 0, 0
	for _, p := range all {
		for i, line := range p.lines {
			if p.fenced[i] {
				continue
			}
			for _, m := range link.FindAllStringSubmatch(span.ReplaceAllStringFunc(line, blank), -1) {
				where := p.path + ":" + itoa(i+1)
				if m[1] == "!" {
					if pictures++; len(m[2]) < 20 {
						t.Errorf("%s: the picture %s does not say in words what it shows", where, m[3])
					}
				}
				if strings.Contains(m[3], "://") || strings.HasPrefix(m[3], "mailto:") {
					continue
				}
				seen++
				if why := leadsNowhere(p, m[3], anchors); why != "" {
					t.Errorf("%s: %s", where, why)
				}
			}
		}
	}
	if seen < 100 || pictures < 5 {
		t.Errorf("%d links and %d pictures were found", seen, pictures)
	}
}

// blank takes the place of code: a link in it is none, but a link may have code as its text.
func blank(code string) string { return strings.Repeat("x", len(code)) }

func leadsNowhere(p page, to string, anchors map[string]map[string]bool) string {
	file, anchor, anchored := strings.Cut(to, "#")
	path := p.path
	if file != "" {
		path = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), file))
		if strings.HasPrefix(path, "../") {
			return to + " leads out of the repository"
		}
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			return err.Error()
		}
	}
	if !anchored {
		return ""
	}
	known, isPage := anchors[path]
	switch {
	case !isPage:
		return to + ": only pages have headings"
	case !known[anchor]:
		return to + ": no heading of " + path + " is that"
	}
	return ""
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	p, _ := parsePage("README.md", "# A `b` (c), d\n## A b c d\n# A\n# A\n<a id=\"own\"></a>\n```sh\n# not\n```\n")
	anchors := map[string]map[string]bool{"README.md": p.anchors()}
	for to, fine := range map[string]bool{
		"#a-b-c-d": true, "#a-b-c-d-1": true, "#a-1": true, "#own": true, "#not": false, "#A": false, "exporter/METRICS.md": true, "cmd": true,
		"invented.md": false, "../other/README.md": false, "LICENSE#x": false,
	} {
		if why := leadsNowhere(p, to, anchors); (why == "") != fine {
			t.Errorf("%s: %q", to, why)
		}
	}
}
