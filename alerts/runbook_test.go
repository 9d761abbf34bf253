package alerts

import (
	"regexp"
	"strings"
	"testing"
)

const published = "https://github.com/umascope/umascope/blob/main/alerts/"

// sectionsOf are the alerts of a page, as the fragments that GitHub makes of their headings.
func sectionsOf(page string) map[string]bool {
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(page, -1) {
		sections[strings.ToLower(heading[1])] = true
	}
	return sections
}

// TestEveryAlertLeadsToItsSectionOfARunbook follows runbook_url as GitHub would.
func TestEveryAlertLeadsToItsSectionOfARunbook(t *testing.T) {
	texts := render(t)
	linked := map[string]bool{}
	for name, text := range texts {
		for _, match := range regexp.MustCompile(`runbook_url: (\S+)`).FindAllStringSubmatch(text, -1) {
			path, ours := strings.CutPrefix(match[1], published)
			page, section, _ := strings.Cut(path, "#")
			linked[path] = true
			if !ours || !sectionsOf(texts[page])[section] {
				t.Errorf("%s: no section for %s", name, match[1])
			}
		}
	}
	for name, text := range texts {
		if !strings.HasPrefix(name, runbookFolder) {
			continue
		}
		for section := range sectionsOf(text) {
			if !linked[name+"#"+section] {
				t.Errorf("no alert links to the section %s of %s", section, name)
			}
		}
	}
	if len(linked) == 0 {
		t.Error("no alert has a runbook")
	}
}

func TestTheContentsOfTheRunbooksListEveryAlertAndLeadToIt(t *testing.T) {
	texts := render(t)
	links := map[string]bool{}
	for _, link := range regexp.MustCompile(`\[(\w+)\]\(([^)#]+)#([^)]+)\)`).FindAllStringSubmatch(texts[runbookName], -1) {
		links[link[1]] = true
		if !sectionsOf(texts[link[2]])[link[3]] {
			t.Errorf("%s leads nowhere", link[0])
		}
	}
	everyRule(func(a Alert, r Rule) {
		if !links[a.Name] {
			t.Errorf("the contents lack %s", a.Name)
		}
	})
}

// TestTablesOfTheRunbookKeepTheirColumns: a bar in a summary would begin another column.
func TestTablesOfTheRunbookKeepTheirColumns(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\|.*$`).FindAllString(render(t)[runbookName], -1)
	for _, row := range rows {
		if strings.Count(row, "|") != 6 {
			t.Errorf("row %s", row)
		}
	}
	if len(rows) == 0 {
		t.Error("no table")
	}
}
