package loadgen

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"

	"github.com/umascope/umascope/loadgen/summary"
)

// several holds runs that are reported side by side.
type several struct {
	line *reportLine
	runs []summary.Run
	// over is the numeric flag or label in which the runs differ, as the points of a sweep do. Empty means none.
	over string
}

// reportGroup shows many runs. For an unfinished run it computes the figures from the files that exist. It leaves out,
// by name, runs that are damaged, removed meanwhile or cannot be computed.
func (l *reportLine) reportGroup(stdout, stderr io.Writer, paths []string) error {
	s := &several{line: l}
	at := map[string]string{}
	for _, path := range paths {
		r, err := l.openRun(path)
		if l.recompute && (errors.Is(err, summary.ErrNoRequests) || errors.Is(err, summary.ErrMerged)) {
			r, err = summary.Open(path) // with everything that it has so far
		}
		if err != nil {
			reportLeftOut(stderr, []error{err})
			continue
		}
		id := r.Manifest.Run
		if first, twice := at[id]; twice {
			return usage(fmt.Errorf("%s: its run is called %q, and so is that of %s", path, id, first))
		}
		at[id] = path
		r.Summary = r.Summary.With(l.compute(r.Observation().Metrics))
		s.runs = append(s.runs, r)
	}
	slices.SortStableFunc(s.runs, func(a, b summary.Run) int { return a.Manifest.StartedAt.Compare(b.Manifest.StartedAt) })
	if l.format == formHTML {
		s.checkCourses(stderr)
	}
	if len(s.runs) == 0 {
		return usage(fmt.Errorf("%s: no finished run", strings.Join(l.folders, ", ")))
	}
	s.over = s.axis()
	if err := l.writeWorkbook(s.workbook); err != nil {
		return err
	}
	return l.write(stdout, s.render)
}

// reportLeftOut writes a line for each run that is left out, with the reason.
func reportLeftOut(w io.Writer, runs []error) {
	for _, why := range runs {
		fmt.Fprintln(w, "uma-load: left out:", printable(why.Error()))
	}
}

// writeRunsPage writes a page of runs into the folder of their campaign: a table, charts by arm and charts over time. It reports
// each run that it leaves out to a writer.
func writeRunsPage(dir rundir.Folder, runs []summary.Run, notices io.Writer) error {
	path := dir.Path(rundir.HTMLFile)
	s := &several{line: &reportLine{folders: []string{string(dir)}, format: formHTML, out: path}, runs: slices.Clone(runs)}
	s.checkCourses(notices)
	s.over = s.axis()
	return dir.Write(rundir.HTMLFile, s.render)
}

// render writes the runs in the format that was asked for.
func (s *several) render(w io.Writer) error {
	switch s.line.format {
	case formMarkdown:
		return s.group().WriteMarkdown(w)
	case formHTML:
		g := s.group()
		g.More = s.byArm()
		if err := s.addCourses(&g); err != nil {
			return err
		}
		return g.WriteHTML(w)
	case formJSON:
		all := []reported{}
		for _, r := range s.runs {
			all = append(all, newReported(r.Summary))
		}
		return openai.PrintJSON(w, all)
	case formBenchstat:
		for _, r := range s.runs {
			if err := report.Benchstat(w, r.Summary); err != nil {
				return err
			}
		}
		return nil
	}
	return s.group().WriteText(w)
}

// group returns the content of the table and the page.
func (s *several) group() report.Group {
	g := report.Group{Title: s.title(), Over: "run", Verdict: s.verdict(), Good: s.valid() == len(s.runs)}
	if s.over != "" {
		g.Over = s.over
	}
	names := s.names()
	linked := s.linked()
	if linked {
		g.RunPage = rundir.HTMLFile
	}
	for i, r := range s.runs {
		m := report.Member{Run: r.Manifest.Run, Name: names[i], State: stateOfRun(r), Summary: &s.runs[i].Summary}
		if linked {
			m.Run = s.relative(r)
		}
		if s.over != "" {
			m.Load, _ = strconv.ParseFloat(s.setting(r, s.over), 64)
		}
		g.Members = append(g.Members, m)
	}
	return g
}

// stateOfRun returns the state of a run in a few words.
func stateOfRun(r summary.Run) string {
	if r.Manifest.State == rundir.StateRunning {
		return "unfinished"
	}
	if r.Summary.Valid {
		return "valid"
	}
	var codes []string
	for _, reason := range r.Summary.InvalidReasons {
		codes = append(codes, string(reason.Code))
	}
	return "INVALID: " + strings.Join(codes, " ")
}

func (s *several) valid() int {
	n := 0
	for _, r := range s.runs {
		if r.Summary.Valid {
			n++
		}
	}
	return n
}

func (s *several) verdict() string {
	if n := len(s.runs) - s.valid(); n > 0 {
		return fmt.Sprintf("%d of %d runs are INVALID: they are in no mean.", n, len(s.runs))
	}
	return fmt.Sprintf("All %d runs are valid.", len(s.runs))
}

// title returns the sweep or the campaign that all runs belong to, else the folder.
func (s *several) title() string {
	for _, label := range []string{"campaign", "sweep"} {
		if value := s.runs[0].Summary.Labels[label]; value != "" && len(s.values(label)) == 1 {
			return strings.ToUpper(label[:1]) + label[1:] + " " + value
		}
	}
	return "Runs of " + strings.Join(s.line.folders, ", ")
}

// notNames are labels that do not name a run: they number runs, or are built from other labels.
var notNames = []string{"campaign", "sweep", "slot", "round", "pair"}

// setting returns a label of a run, or its flag of that name.
func (s *several) setting(r summary.Run, name string) string {
	if value, labelled := r.Summary.Labels[name]; labelled {
		return value
	}
	return r.Manifest.Flags[name]
}

// values returns the distinct values of a label or flag.
func (s *several) values(name string) []string {
	var values []string
	for _, r := range s.runs {
		values = append(values, s.setting(r, name))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// axis returns the first setting that is a number in every run and differs between two of them. Settings that vary a
// load come first, then labels.
func (s *several) axis() string {
	candidates := []string{"concurrency", "rate"}
	for _, name := range s.labels() {
		if !slices.Contains(append(notNames, "iteration"), name) {
			candidates = append(candidates, name)
		}
	}
	for _, name := range candidates {
		values := s.values(name)
		number := func(text string) bool {
			v, err := strconv.ParseFloat(text, 64)
			return err == nil && v > 0
		}
		if len(values) > 1 && !slices.ContainsFunc(values, func(text string) bool { return !number(text) }) {
			return name
		}
	}
	return ""
}

// labels returns the labels of all runs.
func (s *several) labels() []string {
	all := map[string]bool{}
	for _, r := range s.runs {
		for name := range r.Summary.Labels {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// names returns a name for each run: its settings that differ between runs, plus its own name where these are not
// unique.
func (s *several) names() []string {
	var differ []func(summary.Run) string
	add := func(of func(summary.Run) string) {
		told := slices.ContainsFunc(differ, func(other func(summary.Run) string) bool { return s.tellTheSame(other, of) })
		if !told && slices.ContainsFunc(s.runs, func(r summary.Run) bool { return of(r) != of(s.runs[0]) }) {
			differ = append(differ, of)
		}
	}
	if s.over != "" {
		add(func(r summary.Run) string { return s.setting(r, s.over) })
	}
	add(func(r summary.Run) string { return r.Observation().Model })
	add(func(r summary.Run) string { return r.Summary.Scenario })
	for _, name := range s.labels() {
		if name != s.over && name != "model" && !slices.Contains(notNames, name) {
			add(func(r summary.Run) string { return r.Summary.Labels[name] })
		}
	}
	used := map[string]int{}
	var names []string
	for _, r := range s.runs {
		var parts []string
		for _, of := range differ {
			if text := of(r); text != "" {
				parts = append(parts, text)
			}
		}
		names = append(names, strings.Join(parts, ", "))
		used[names[len(names)-1]]++
	}
	for i, r := range s.runs {
		if names[i] == "" {
			names[i] = r.Manifest.Run
		} else if used[names[i]] > 1 {
			names[i] += " (" + r.Manifest.Run + ")"
		}
	}
	return names
}

// tellTheSame reports whether two settings divide the runs into the same groups.
func (s *several) tellTheSame(a, b func(summary.Run) string) bool {
	ofA, ofB := map[string]string{}, map[string]string{}
	for _, r := range s.runs {
		x, y := a(r), b(r)
		if other, seen := ofA[x]; seen && other != y {
			return false
		}
		if other, seen := ofB[y]; seen && other != x {
			return false
		}
		ofA[x], ofB[y] = y, x
	}
	return true
}

// linked reports whether the page can link to the pages of its runs: the page is a file, and every run has a page.
func (s *several) linked() bool {
	return s.line.out != "" && !slices.ContainsFunc(s.runs, func(r summary.Run) bool {
		_, err := os.Stat(r.Path(rundir.HTMLFile))
		return err != nil || s.relative(r) == ""
	})
}

// relative returns the path from the page to a run, or "" if there is none.
func (s *several) relative(r summary.Run) string {
	from, err := filepath.Abs(filepath.Dir(s.line.out))
	if err != nil {
		return ""
	}
	to, err := filepath.Abs(string(r.Folder))
	if err != nil {
		return ""
	}
	way, err := filepath.Rel(from, to)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(way)
}

// byArm returns charts of the runs by arm, if there are several arms.
func (s *several) byArm() []render.Block {
	const arm = "arm"
	if len(s.values(arm)) < 2 {
		return nil
	}
	o := compare.Options{By: arm, AllowDifferentWorkload: true}
	var observed []compare.Run
	for _, r := range s.runs {
		one := r.Observation()
		if s.over != "" {
			one.Labels = maps.Clone(one.Labels)
			one.Labels[s.over] = s.setting(r, s.over)
		}
		observed = append(observed, one)
	}
	within := []string{"model", "scenario"}
	if s.over != "" {
		within = append(within, s.over)
	}
	for _, label := range within {
		if slices.ContainsFunc(observed, func(r compare.Run) bool { return r.Label(label) != observed[0].Label(label) }) {
			o.Within = append(o.Within, label)
		}
	}
	c, err := compare.Compare(observed, o)
	if err != nil { // the arms' runs have nothing in common
		return []render.Block{render.H2("By arm"), render.Small(err.Error())}
	}
	return comparison.ByArm(c)
}

// checkCourses leaves out, by name, each run that is to be shown over time and whose telemetry is damaged.
func (s *several) checkCourses(stderr io.Writer) {
	for damaged := true; damaged && len(s.runs) > 0; {
		damaged = false
		for _, i := range s.group().Chosen() {
			if _, err := s.runs[i].Telemetry(); err != nil {
				reportLeftOut(stderr, []error{fmt.Errorf("%s: %w", s.runs[i].Folder, err)})
				s.runs, damaged = slices.Delete(s.runs, i, i+1), true
				break // another run takes its place among those that are shown over time
			}
		}
	}
}

// addCourses reads the telemetry of the runs that are shown over time, one run at a time.
func (s *several) addCourses(g *report.Group) error {
	for _, i := range g.Chosen() {
		log, err := s.runs[i].Telemetry()
		if err != nil {
			return err
		}
		g.Members[i].Course = report.NewCourse(s.runs[i].Summary, log)
	}
	return nil
}
