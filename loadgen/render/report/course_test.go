package report

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/summary"
)

// courses is a group of runs with telemetry.
func courses(t *testing.T, runs int) Group {
	t.Helper()
	page := example(t, 40*time.Second)
	g := Group{Title: "Runs " + hostileName, Verdict: "ok", Over: "run"}
	for i := range runs {
		s := page.Summary
		g.Members = append(g.Members, Member{Run: fmt.Sprint(i), Name: fmt.Sprintf("run %d %s", i, hostileName), State: "valid", Summary: &s, Course: NewCourse(s, page.Telemetry)})
	}
	return g
}

func TestAGroupShowsItsRunsOverTimeOnOneScale(t *testing.T) {
	g := courses(t, 3)
	g.Members[1].Course = nil // without telemetry
	text := written(t, func(b *bytes.Buffer) error { return g.WriteHTML(b) })
	if dir := os.Getenv("UMASCOPE_PAGES"); dir != "" {
		if err := os.WriteFile(dir+"/"+t.Name()+".html", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	drawings(t, text)
	for _, want := range []string{"2 of 3 runs", "<h3>Where the memory went", "<h3>GPU temperature", "<h3>GPU power", "band-gpu", "samples of spark-1, live"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, part := range regexp.MustCompile(`(?s)<div class="panels">.*?</div>`).FindAllString(text, -1) {
		axes := regexp.MustCompile(`text-anchor="end">([^<]*)<`).FindAllStringSubmatch(part, -1)
		if figures := strings.Count(part, "<svg"); figures != 2 || len(axes)%2 != 0 || fmt.Sprint(axes[:len(axes)/2]) != fmt.Sprint(axes[len(axes)/2:]) {
			t.Errorf("%d figures with the ticks %v", figures, axes)
		}
		if n := strings.Count(part, ">measure<"); n != 2 {
			t.Errorf("%d figures with the measured phase", n)
		}
	}
}

func TestTheCoursesOfALongRunAreThin(t *testing.T) {
	page, long := example(t, 20*time.Second), example(t, 30*time.Minute)
	short, thin := NewCourse(page.Summary, page.Telemetry), NewCourse(long.Summary, long.Telemetry)
	points := func(c *Course) int {
		n := 0
		for _, run := range c.balances {
			n += len(run)
		}
		for _, line := range c.lines {
			for _, run := range line {
				n += len(run)
			}
		}
		return n
	}
	if short.samples > 30 || thin.samples < 1700 || points(thin) > 6*2*coursePoints {
		t.Errorf("%d points of %d samples, %d of %d", points(short), short.samples, points(thin), thin.samples)
	}
}

func TestOfManyRunsAnEvenShareIsShownOverTime(t *testing.T) {
	if of := chosen(100); len(of) != MostCourses || of[0] != 0 || of[len(of)-1] < 90 {
		t.Errorf("%v of 100", of)
	}
	if of := chosen(3); len(of) != 3 {
		t.Errorf("%v of 3", of)
	}
}

func TestARunWithoutTelemetryHasNoCourse(t *testing.T) {
	page := example(t, 20*time.Second)
	if NewCourse(page.Summary, nil) != nil {
		t.Error("a course without a log")
	}
	s := page.Summary
	s.Machines = nil
	if NewCourse(s, page.Telemetry) != nil {
		t.Error("a course of a machine that the summary does not know")
	}
	if text := written(t, func(b *bytes.Buffer) error { return group(t, 1, 2).WriteHTML(b) }); strings.Contains(text, "run by run") {
		t.Error("a heading without figures")
	}
}

func TestComputedFiguresStandWithTheOthers(t *testing.T) {
	g := group(t, 1, 2)
	v := 3.25
	for i, computed := range [][]summary.Computed{{{Name: "tokens_per_joule", Value: &v}, {Name: "gone"}}, {{Name: "tokens_per_joule"}, {Name: "gone"}}} {
		s := g.Members[i].Summary.With(computed)
		g.Members[i].Summary = &s
	}
	table := g.table()
	if header := strings.Join(table.Header, "|"); !strings.Contains(header, "tokens_per_joule") || strings.Contains(header, "gone") {
		t.Errorf("columns %s", header)
	}
	one := *g.Members[0].Summary
	plain := written(t, func(b *bytes.Buffer) error { return Text(b, one) })
	md := written(t, func(b *bytes.Buffer) error { return Markdown(b, one) })
	html := written(t, func(b *bytes.Buffer) error { return HTML(b, Page{Title: "x", Summary: one}) })
	for name, text := range map[string]string{"text": plain, "Markdown": strings.ReplaceAll(md, `\`, ""), "HTML": html} {
		if !strings.Contains(text, "tokens_per_joule (computed)") || !strings.Contains(text, "3.25") {
			t.Errorf("%s lacks the computed figure", name)
		}
	}
}
