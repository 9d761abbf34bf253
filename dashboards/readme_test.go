package dashboards

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThePageForPeopleShowsEveryDashboard(t *testing.T) {
	content, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	last := 0
	for _, p := range pages() {
		_, section, found := strings.Cut(text, "\n## "+p.title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found || !strings.Contains(section, "]("+p.name+".json)") || !strings.Contains(section, "](pictures/"+p.name+".png)") {
			t.Errorf("%s has no section with its file and its picture", p.title)
		}
		if at := strings.Index(text, "\n## "+p.title+"\n"); at < last {
			t.Errorf("%s stands elsewhere than in the list of pages", p.title)
		} else {
			last = at
		}
		if info, err := os.Stat(filepath.Join("pictures", p.name+".png")); err != nil || info.Size() > 1<<20 {
			t.Errorf("picture of %s: %v, or larger than a megabyte", p.title, err)
		}
	}
	pictures, err := filepath.Glob("pictures/*")
	if err != nil || len(pictures) != len(pages()) {
		t.Errorf("%d pictures of %d pages", len(pictures), len(pages()))
	}
}
