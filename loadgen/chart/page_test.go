package chart

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestNothingIsDeclaredSafeForHTML(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		source, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, escape := range []string{"template.HTML", "template.JS", "template.CSS", "template.URL", "template.Srcset", "text/template"} {
			if strings.Contains(string(source), escape) {
				t.Errorf("%s uses %s", file.Name(), escape)
			}
		}
	}
}

func TestAPageEscapesWhatItShows(t *testing.T) {
	const hostile = "<script>alert(1)</script>\x1b[31m\u202e"
	drawing := func(width, height float64) *Drawing {
		f := NewFrame(width, height, Linear(hostile, 0, 10, 1, 4), Linear(hostile, 0, 1, 1, 4), hostile)
		f.Phases([]Span{{hostile, 0, 10}})
		f.Polyline("line c0", hostile, [][]Place{{{0, 0}, {10, 1}}})
		f.Cross(20, 20, hostile)
		return f.Drawing
	}
	figure := Figure{Title: hostile, Caption: hostile, Legend: []LegendItem{{"c0", hostile}}}.Draw(drawing)
	var page bytes.Buffer
	if err := WritePage(&page, `{{template "style"}}{{template "figure" .}}`, figure); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.Contains(text, "<script") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("hostile text got into the page: %s", text)
	}
	if n := strings.Count(text, "&lt;script&gt;"); n < 2*5 {
		t.Errorf("%d texts of two drawings are shown", n)
	}
}
