package alerts

import (
	"regexp"
	"strings"
	"testing"
)

const published = "https://github.com/umascope/umascope/blob/main/alerts/runbooks.md#"

// anchorsOf are the fragments of a page's headings as GitHub makes them, with the level of each.
func anchorsOf(t *testing.T, page string) map[string]int {
	t.Helper()
	anchors := map[string]int{}
	for _, heading := range regexp.MustCompile(`(?m)^(#+) (.+)$`).FindAllStringSubmatch(page, -1) {
		kept := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading[2]), "")
		name := strings.ReplaceAll(kept, " ", "-")
		if anchors[name] != 0 {
			t.Errorf("two headings have the anchor %s: a link finds the first", name)
		}
		anchors[name] = len(heading[1])
	}
	return anchors
}

// TestEveryAlertLeadsToItsSectionOfTheRunbook follows runbook_url as GitHub would.
func TestEveryAlertLeadsToItsSectionOfTheRunbook(t *testing.T) {
	const ofAlerts = 3
	texts := render(t)
	anchors := anchorsOf(t, texts[runbookName])
	linked := map[string]bool{}
	for name, text := range texts {
		for _, match := range regexp.MustCompile(`runbook_url: (\S+)`).FindAllStringSubmatch(text, -1) {
			fragment, ours := strings.CutPrefix(match[1], published)
			linked[fragment] = true
			if !ours || anchors[fragment] != ofAlerts {
				t.Errorf("%s: no section for %s", name, match[1])
			}
		}
	}
	for anchor, level := range anchors {
		if level == ofAlerts && !linked[anchor] {
			t.Errorf("no alert links to the section %s", anchor)
		}
	}
	if len(linked) == 0 {
		t.Error("no alert has a runbook")
	}
}

func TestTheContentsOfTheRunbookListEveryAlertAndLeadToIt(t *testing.T) {
	page := render(t)[runbookName]
	anchors := anchorsOf(t, page)
	contents, _, found := strings.Cut(page, "\n## "+Groups()[0].file())
	if !found {
		t.Fatal("no first group")
	}
	links := map[string]string{}
	for _, link := range regexp.MustCompile(`\[([^]]+)\]\(#([^)]+)\)`).FindAllStringSubmatch(contents, -1) {
		links[link[1]] = link[2]
		if anchors[link[2]] == 0 {
			t.Errorf("%s leads nowhere", link[0])
		}
	}
	everyRule(func(a Alert, r Rule) {
		if links[a.Name] == "" {
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
