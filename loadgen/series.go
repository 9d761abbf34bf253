package loadgen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
)

// planner writes the plan of a sweep or an arena, and chooses its slots.
type planner interface {
	// own returns the flags of the verb that decide what is measured.
	own() []string
	// plan returns the plan by the flags of all runs.
	plan(given []plan.Flag) (plan.Single, error)
	next(made []campaign.SlotFacts) campaign.Choice
	// point returns what a scenario measures, for people.
	point(plan.Scenario) string
	// prepare adds the flags of a run that follow from the runs before it, and complete the settings that no flag has.
	prepare(*campaign.Order)
	complete(*settings)
	// result returns the result of a run from the one that a campaign would have.
	result(campaign.Order, campaign.Result, error, *summary.Summary) campaign.Result
	// show adds to what is shown before a run.
	show(*runner.Series)
}

// series is a sweep or an arena: a campaign whose plan follows from flags. It has one arm, the server that runs already,
// and a run for each scenario.
type series struct {
	campaignRuns
	kind    string
	id, at  string // its name, and the folder around its folder
	line    *commandLine
	verb    *kingpin.CmdClause
	runs    *settings // the flags of every run
	given   []plan.Flag
	fresh   bool // the folder was made for this invocation
	planner planner
	// failure is the error of the last run, with its exit code, and served is true if a run has sent requests.
	failure error
	served  bool
}

// longestSeriesID bounds the name of a sweep or an arena, so that the names of its runs are not too long.
const longestSeriesID = 80

// newSeries names a sweep or an arena, which resume continues if it is not empty.
func newSeries(kind string, l *commandLine, verb *kingpin.CmdClause, run *settings, env runner.Environment, resume string) (*series, error) {
	s := &series{
		campaignRuns: campaignRuns{env: env}, kind: kind, at: run.Out, line: l, verb: verb, runs: run, fresh: resume == "",
	}
	var err error
	if s.given, err = l.given(); err != nil {
		return nil, err
	}
	if s.id = run.RunID; s.id == "" {
		s.id = rundir.NewID(time.Now(), s.arm())
	}
	if !s.fresh {
		return s, s.find(resume)
	}
	if !terminal.PlainName(s.id) || len(s.id) > longestSeriesID {
		return nil, fmt.Errorf("--run-id: %q: want letters, digits, . _ and -, not beginning with a dot, at most %d", s.id, longestSeriesID)
	}
	return s, nil
}

// arm returns the label of the runs, if it can name an arm of a plan.
func (s *series) arm() string {
	if name := s.runs.label("arm"); terminal.PlainName(name) {
		return name
	}
	return defaultArm
}

// find finds the folder to continue, which is below --out or is a path.
func (s *series) find(name string) error {
	for _, dir := range []string{filepath.Join(s.at, name), name} {
		facts, err := campaign.ReadFacts(dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return fmt.Errorf("--resume: %w", err)
		case facts.Kind != s.kind:
			return fmt.Errorf("--resume: %s is of uma-load %s", dir, printable(facts.Kind))
		case filepath.Base(filepath.Clean(dir)) != facts.Campaign:
			return fmt.Errorf("--resume: %s: the name of this %s is %.80q, and its folder has another", dir, s.kind, facts.Campaign)
		case facts.State == campaign.Complete || facts.State == campaign.Ended:
			return fmt.Errorf("--resume: all %d runs of %s are made", len(facts.Slots), dir)
		}
		s.id, s.at = facts.Campaign, filepath.Dir(filepath.Clean(dir))
		return nil
	}
	return fmt.Errorf("--resume: no folder %s in %s has a %s", name, s.at, campaign.StateFile)
}

// notOfRuns are the flags of sweep and arena that no run gets: they describe the whole.
func notOfRuns() []string {
	return []string{"out", "run-id", "resume", "dry-run", "rates", "export", "web.listen-address", "web.allow-host", "web.config.file", "web.linger", "progress"}
}

// free reports whether a flag of a run may differ after a resume: it does not change what is measured.
func free(flag string) bool {
	return strings.HasPrefix(flag, "log.") || slices.Contains([]string{"wait-ready", "ready-consecutive", "xlsx", "csv", "conversations", "benchstat", "api-key-file"}, flag)
}

// ofRuns returns the flags of all runs.
func (s *series) ofRuns() []plan.Flag {
	return slices.DeleteFunc(slices.Clone(s.given), func(f plan.Flag) bool {
		return slices.Contains(s.planner.own(), f.Name) || slices.Contains(notOfRuns(), f.Name)
	})
}

// values returns the flags of the verb as values of the plan. Names of values have no dashes.
func (s *series) values() map[string]string {
	values, flags := map[string]string{}, s.line.flagValues(s.verb)
	for _, name := range s.planner.own() {
		if flags[name] != "" {
			values[strings.ReplaceAll(name, "-", "_")] = flags[name]
		}
	}
	return values
}

// shown returns the flags of all runs as files may have them, without secrets and without flags that are free.
func (s *series) shown() []plan.Flag {
	var all []plan.Flag
	for _, f := range s.ofRuns() {
		if value, is := s.verb.GetFlag(f.Name).Model().Value.(interface{ Shown(string) string }); is {
			f.Value = value.Shown(f.Value)
		}
		if !free(f.Name) {
			all = append(all, f)
		}
	}
	return all
}

// read parses the plan, and checks the command lines of its runs and of further scenarios. Files that the flags name are
// the same for all runs and are read only once.
func (s *series) read(further ...plan.Scenario) error {
	single, err := s.planner.plan(s.ofRuns())
	if err != nil {
		return err
	}
	text, err := single.Text()
	if err != nil {
		return err
	}
	if s.planned, err = plan.Parse(campaign.PlanFile, text); err != nil {
		return err
	}
	checked := *s.planned
	checked.Scenarios = slices.Concat(s.planned.Scenarios, further)
	cell, err := checked.Render(plan.SingleModel, s.arm(), nil)
	if err != nil {
		return err
	}
	for i, scenario := range cell.Scenarios {
		line, err := s.lineOf(campaign.Order{Run: "check", Dir: s.at, Cell: cell, Scenario: scenario})
		if err == nil && (i == 0 || !line.settings.readsFiles()) {
			_, err = line.checkRun()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.planner.point(scenario), err)
		}
	}
	return nil
}

// lineOf returns the command line of a run. The labels of a campaign stay away: the flags have the labels of the runs.
func (s *series) lineOf(o campaign.Order) (*commandLine, error) {
	o.Labels = nil
	line, err := orderLine(o)
	if err == nil {
		line.settings.Target.FoundBy = s.runs.Target.FoundBy
	}
	return line, err
}

// open opens the folder, which it makes for a new series, and refuses to continue one that began with other flags.
func (s *series) open() (*campaign.Campaign, error) {
	single, err := s.planner.plan(s.shown())
	if err != nil {
		return nil, err
	}
	text, err := single.Text()
	if err != nil {
		return nil, err
	}
	s.dir = filepath.Join(s.at, s.id)
	if !s.fresh {
		err = s.sameFlags(text)
	} else {
		_, err = runner.MakeFolder(s.at, s.id)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	c := &campaign.Campaign{
		Kind: s.kind, Plan: s.planned, Text: text, SHA256: hex.EncodeToString(sum[:]), Dir: s.dir, KeyDir: s.at, Next: s.planner.next, Log: s.env.Log,
		Retry: []campaign.Status{campaign.Failed}, Operations: operations(&s.campaignRuns, arm.Options{Log: s.env.Log}),
	}
	c.Operations.Name, c.Operations.Measure = s.runName, s.measure
	return c, nil
}

// sameFlags names a flag that differs from the plan in the folder: all runs of a table are measured alike.
func (s *series) sameFlags(text []byte) error {
	before, err := plan.Read(filepath.Join(s.dir, campaign.PlanFile))
	if err != nil {
		return fmt.Errorf("--resume: %w", err)
	}
	now, err := plan.Parse(campaign.PlanFile, text)
	if err != nil {
		return err
	}
	flags := func(p *plan.Plan) map[string]string {
		all := maps.Clone(p.Flags)
		for name, value := range p.Values {
			all[strings.ReplaceAll(name, "_", "-")] = value
		}
		return all
	}
	was, is := flags(before), flags(now)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		is[name] += "" // a flag that is left out now differs too
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name] != is[name] {
			return fmt.Errorf("--resume: --%s was %q when %s began, and is %q now: give the flags that it began with", name, printable(was[name]), printable(s.id), printable(is[name]))
		}
	}
	if !reflect.DeepEqual(before.Scenarios, now.Scenarios) {
		return fmt.Errorf("--resume: %s has other runs than these flags make: has a file changed that they name?", s.dir)
	}
	return nil
}

// runName returns the name of a new run: no folder has it, also of a run that failed or was cut off.
func (s *series) runName(slot plan.Slot) string {
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(s.dir, name))
		return err == nil
	}
	base := s.id + "-" + slot.Scenario
	name := base
	for n := 2; exists(name) || exists(name+campaign.AbortedSuffix); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// carryOut makes the missing runs. An error ends the verb; else present shows what was measured.
func (s *series) carryOut(ctx context.Context, present func(campaign.Outcome) error) error {
	c, err := s.open()
	if err != nil {
		return usage(err)
	}
	if s.page, err = runner.OpenLivePage(s.runs.web, s.env.Network, s.env.Log); err != nil {
		s.undo()
		return usage(err)
	}
	defer s.page.Close()
	if s.invocation, err = c.Open(); err != nil {
		s.undo()
		return usage(err)
	}
	defer s.invocation.Close()
	o, err := s.invocation.Run(ctx)
	if o.State == campaign.Broken && s.failure != nil && s.fresh && !s.served {
		s.undo()
		return s.failure // with the exit code of the run, since nothing was measured
	}
	if err == nil {
		err = s.unfinished(o)
	}
	if err != nil {
		s.env.Log.Info("go on with the same flags and", "flag", "--resume="+s.id)
	}
	if err = errors.Join(err, present(o)); err != nil {
		return err
	}
	s.page.Report(filepath.Join(s.dir, rundir.HTMLFile))
	linger(ctx, s.env.Cut, s.runs.linger, s.env.Log)
	return nil
}

// unfinished returns why runs are missing.
func (s *series) unfinished(o campaign.Outcome) error {
	switch o.State {
	case campaign.Complete, campaign.Ended:
		return nil
	case campaign.Stopped:
		return runner.ErrInterrupted
	default:
		return errors.New(o.Reason)
	}
}

// measured returns how many slots have a run with figures.
func (s *series) measured() int {
	counts := s.invocation.Outcome().Counts
	return counts[campaign.Finished] + counts[campaign.Invalid]
}

// undo removes the folder of a new series that measured nothing.
func (s *series) undo() {
	if s.fresh {
		_ = os.RemoveAll(s.dir)
	}
}

// measure makes one run. Its figures go to its own folder and the table, not to the terminal.
func (s *series) measure(ctx context.Context, o campaign.Order) campaign.Result {
	s.planner.prepare(&o)
	line, err := s.lineOf(o)
	if err != nil {
		return failed(ctx, err)
	}
	settings, err := line.checkRun()
	if err != nil {
		return failed(ctx, err)
	}
	s.planner.complete(settings)
	o.Engine.Ran = nil // flags of the points differ by design
	env := quiet(s.env, settings.log, s.page)
	env.Engine, env.Series = &o.Engine, s.results(s.kind, o.Slot.Number, func(f campaign.SlotFacts) string { return s.pointOf(f.Number) })
	env.Series.Point = s.pointOf(o.Slot.Number)
	s.planner.show(env.Series)
	env.Log.Info(s.kind, "number", o.Slot.Number, "run", o.Run, "measures", env.Series.Point)
	made, result, err := s.campaignRuns.run(ctx, settings, env, o)
	s.failure, s.served = err, s.served || made.Made != nil && !made.Unserved
	return s.planner.result(o, result, err, made.Summary())
}

// pointOf returns what a slot measures, for people.
func (s *series) pointOf(number int) string { return s.planner.point(s.planned.Scenarios[number-1]) }

// printFolder prints where everything is.
func (s *series) printFolder(stdout io.Writer) error {
	_, err := fmt.Fprintf(stdout, "\n%s folder: %s%c\n", s.kind, s.dir, os.PathSeparator)
	return err
}
