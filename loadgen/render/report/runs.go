package report

import (
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
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"

	"github.com/umascope/umascope/loadgen/summary"
)

// Runs are runs that are reported side by side.
type Runs struct {
	runs    []summary.Run
	folders []string // as they were named
	page    string
	// over is the numeric flag or label in which the runs differ, as the points of a sweep do. Empty means none.
	over string
	// front begins the page: what a comparison of the runs shows. Empty means none.
	front []render.Block
}

// NewRuns returns the runs of some folders. page is the path of the page that they are written to, which links to the
// pages of the runs; empty for none.
func NewRuns(runs []summary.Run, folders []string, page string) *Runs {
	s := &Runs{runs: runs, folders: folders, page: page}
	s.over = s.axis()
	return s
}

// Compared lets the page begin with what a comparison of the runs shows.
func (s *Runs) Compared(c compare.Comparison) *Runs {
	s.front = comparison.Front(c)
	return s
}

// WithTelemetry leaves out each run that is to be shown over time and whose telemetry is damaged. It returns the rest,
// and why the others are left out.
func WithTelemetry(runs []summary.Run) (sound []summary.Run, damaged []error) {
	sound = slices.Clone(runs)
	for again := true; again; {
		again = false
		for _, i := range chosen(len(sound)) {
			if _, err := sound[i].Telemetry(); err != nil {
				damaged = append(damaged, fmt.Errorf("%s: %w", sound[i].Folder, err))
				sound, again = slices.Delete(sound, i, i+1), true
				break // another run takes its place among those that are shown over time
			}
		}
	}
	return sound, damaged
}

// WriteMarkdown writes the runs as a page of Markdown.
func (s *Runs) WriteMarkdown(w io.Writer) error { return s.group().WriteMarkdown(w) }

// WriteText writes the runs as tables that fit in a terminal.
func (s *Runs) WriteText(w io.Writer) error { return s.group().WriteNarrow(w) }

// WriteHTML writes the runs as a page, with charts over load, by arm and over time.
func (s *Runs) WriteHTML(w io.Writer) error {
	g := s.group()
	g.Front, g.More = s.front, s.byArm()
	if err := g.AddCourses(func(i int) (*telemetry.Log, error) { return s.runs[i].Telemetry() }); err != nil {
		return err
	}
	return g.WriteHTML(w)
}

// WriteJSON writes the summaries of the runs as a list.
func (s *Runs) WriteJSON(w io.Writer) error {
	all := []reported{}
	for _, r := range s.runs {
		all = append(all, newReported(r.Summary))
	}
	return openai.PrintJSON(w, all)
}

// WriteBenchstat writes the runs in the format of benchstat.
func (s *Runs) WriteBenchstat(w io.Writer) error {
	for _, r := range s.runs {
		if err := Benchstat(w, r.Summary); err != nil {
			return err
		}
	}
	return nil
}

// group returns the content of the table and the page.
func (s *Runs) group() Group {
	g := Group{Title: s.title(), Over: "run", Verdict: s.verdict(), Good: s.valid() == len(s.runs)}
	if s.over != "" {
		g.Over = s.over
	}
	names := s.names()
	other := s.otherWork()
	linked := s.linked()
	if linked {
		g.RunPage = rundir.HTMLFile
	}
	for i, r := range s.runs {
		m := Member{Run: r.Manifest.Run, Name: names[i], State: stateOfRun(r), OtherWork: other[r.Manifest.Run], Summary: &s.runs[i].Summary}
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

// otherWork returns the runs that uma-load compare would refuse to compare with the rest: at each point of the axis, all
// but those of the workload that most runs have. If no two runs have the same, it returns all of them.
func (s *Runs) otherWork() map[string]bool {
	points := map[string][]*compare.Run{}
	for _, r := range s.runs {
		one := compare.FromRun(r)
		point := ""
		if s.over != "" {
			point = s.setting(r, s.over)
		}
		points[point] = append(points[point], &one)
	}
	other := map[string]bool{}
	for _, runs := range points {
		works := compare.Works(runs)
		most := slices.MaxFunc(append(works, nil), func(a, b []*compare.Run) int { return len(a) - len(b) })
		for _, work := range works {
			if len(works) > 1 && (len(most) == 1 || work[0] != most[0]) {
				for _, r := range work {
					other[r.ID] = true
				}
			}
		}
	}
	return other
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

func (s *Runs) valid() int {
	n := 0
	for _, r := range s.runs {
		if r.Summary.Valid {
			n++
		}
	}
	return n
}

func (s *Runs) verdict() string {
	if n := len(s.runs) - s.valid(); n > 0 {
		return fmt.Sprintf("%d of %d runs are INVALID: ranges and means leave them out.", n, len(s.runs))
	}
	return fmt.Sprintf("All %d runs are valid.", len(s.runs))
}

// title returns the sweep or the campaign that all runs belong to, else the folder.
func (s *Runs) title() string {
	for _, label := range []string{"campaign", "sweep"} {
		if value := s.runs[0].Summary.Labels[label]; value != "" && len(s.values(label)) == 1 {
			return strings.ToUpper(label[:1]) + label[1:] + " " + value
		}
	}
	return "Runs of " + strings.Join(s.folders, ", ")
}

// notNames are labels that do not name a run: they number runs, or are built from other labels.
var notNames = []string{"campaign", "sweep", "slot", "round", "pair"}

// setting returns a label of a run, or its flag of that name.
func (s *Runs) setting(r summary.Run, name string) string {
	if value, labelled := r.Summary.Labels[name]; labelled {
		return value
	}
	return r.Manifest.Flags[name]
}

// values returns the distinct values of a label or flag.
func (s *Runs) values(name string) []string {
	var values []string
	for _, r := range s.runs {
		values = append(values, s.setting(r, name))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// axis returns the first setting that is a number in every run and differs between two of them. Settings that vary a
// load come first, then labels.
func (s *Runs) axis() string {
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
func (s *Runs) labels() []string {
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
func (s *Runs) names() []string {
	var differ []func(summary.Run) string
	add := func(of func(summary.Run) string) {
		known := slices.ContainsFunc(differ, func(other func(summary.Run) string) bool { return s.groupAlike(other, of) })
		if !known && slices.ContainsFunc(s.runs, func(r summary.Run) bool { return of(r) != of(s.runs[0]) }) {
			differ = append(differ, of)
		}
	}
	if s.over != "" {
		add(func(r summary.Run) string { return s.setting(r, s.over) })
	}
	add(func(r summary.Run) string { return compare.FromRun(r).Model })
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

// groupAlike reports whether two settings divide the runs into the same groups.
func (s *Runs) groupAlike(a, b func(summary.Run) string) bool {
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
func (s *Runs) linked() bool {
	return s.page != "" && !slices.ContainsFunc(s.runs, func(r summary.Run) bool {
		_, err := os.Stat(r.Path(rundir.HTMLFile))
		return err != nil || s.relative(r) == ""
	})
}

// relative returns the path from the page to a run, or "" if there is none.
func (s *Runs) relative(r summary.Run) string {
	from, err := filepath.Abs(filepath.Dir(s.page))
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
func (s *Runs) byArm() []render.Block {
	const arm = "arm"
	if len(s.values(arm)) < 2 {
		return nil
	}
	o := compare.Options{By: arm}
	var observed []compare.Run
	for _, r := range s.runs {
		one := compare.FromRun(r)
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
