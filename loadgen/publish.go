package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/publish"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
)

const publishHelp = `Write a pack of runs for a static web server.

  uma-load publish runs/native-container --out pack
  uma-load publish runs/a runs/b --by arm --within model \
      --title "Native and container" --author "A. Tester" --out pack
  uma-load publish --verify pack

It has a page, tables of runs, of every slot of their campaigns, of arms and of differences, the figures, how all came about, how to cite it, the runs themselves and the SHA-256 of every file.

A pack has the numbers of the runs, and texts that are on a list: models, arms, scenarios, engines, versions, settings. Names of hosts and people, paths, addresses, serial numbers, UUIDs and containers are not: each is replaced by its kind and a number, so that equal names stay equal and a comparison of the pack equals the comparison of the runs. Prompts, outputs, logs and what commands printed are left out. --with adds them as they are: read them first.

A pack that is there is replaced at once; anything else is not. Exit codes: 1 if --verify finds a file that is not the one that was packed; 2 if there is nothing to publish, or something else in the way.`

// publishLine holds the flags of the verb publish.
type publishLine struct {
	folders  []string
	verify   string
	byGiven  bool
	settings publish.Settings
}

func publishVerb(app *kingpin.Application) verb {
	l := &publishLine{}
	s := &l.settings
	clause := app.Command("publish", publishHelp)
	clause.Arg("folder", "Run folders, or folders that have them below: of sweeps and campaigns too.").StringsVar(&l.folders)
	terminal.Flag(clause, "out", "Folder of the pack.", "", &s.Out, terminal.Text).PlaceHolder("DIR")
	terminal.Flag(clause, "verify", "Check the sums of a pack instead of making one.", "", &l.verify, terminal.Text).PlaceHolder("DIR")
	terminal.Flag(clause, "by", "Label whose values are the arms.", "arm", &s.Compare.By, terminal.Text).IsSetByUser(&l.byGiven)
	terminal.Flag(clause, "within", "Labels in which compared runs agree; default: model and scenario, if they differ.", "", &s.Compare.Within, parseLabels).PlaceHolder("LABEL,...")
	terminal.Flag(clause, "baseline", "Arm that the others are held against; that of the earliest run, if not given.", "", &s.Compare.Baseline, terminal.Text).PlaceHolder("VALUE")
	clause.Flag("allow-different-workload", "Compare runs that did different work, and report it.").BoolVar(&s.Compare.AllowDifferentWorkload)
	terminal.Flag(clause, "title", "Title of the page and of its citation.", "Benchmark runs", &s.Title, terminal.Text)
	terminal.Flags(clause, "author", "Who is to be cited; may be repeated.", &s.Authors, terminal.Text, terminal.AsGiven)
	terminal.Flag(clause, "license", "SPDX identifier of the licence of the pack, such as CC-BY-4.0.", "", &s.License, parseLicense).PlaceHolder("NAME")
	terminal.Flag(clause, "with", "Files of runs to add as they are: "+terminal.Join(publish.Extras())+".", "", &s.With, eachOf(publish.ParseExtra)).PlaceHolder("NAME,...")
	terminal.Flag(clause, "labels", "Labels of runs to show, in addition to "+strings.Join(publish.Labels(), ", ")+" and those that are compared.", "", &s.Labels, parseLabels).PlaceHolder("LABEL,...")
	return verb{clause, func(ctx context.Context, p Program) error { return l.run(ctx, p.Stdout, p.Stderr) }}
}

// parseLicense accepts the characters of an SPDX license identifier.
func parseLicense(text string) (string, error) {
	for _, r := range text {
		if r != '-' && r != '.' && r != '+' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)) {
			return "", fmt.Errorf("%q is no SPDX identifier, such as CC-BY-4.0", text)
		}
	}
	return text, nil
}

// eachOf returns a parser for a list of words, each parsed by parse.
func eachOf[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(text string) ([]T, error) {
		var all []T
		for _, word := range strings.Split(text, ",") {
			one, err := parse(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
}

// run carries out the verb publish.
func (l *publishLine) run(ctx context.Context, stdout, stderr io.Writer) error {
	if l.verify != "" {
		return l.verifyPack(stdout)
	}
	if err := l.check(); err != nil {
		return usage(err)
	}
	if err := publish.CheckOut(l.settings.Out); err != nil {
		return runner.BadOut(err)
	}
	runs, skipped, err := summary.Load(l.folders)
	if err != nil {
		return usage(err)
	}
	reportLeftOut(stderr, skipped)
	if len(runs) == 0 {
		return usage(fmt.Errorf("%s: no run that is finished", strings.Join(l.folders, " ")))
	}
	if by := l.settings.Compare.By; l.byGiven && !slices.ContainsFunc(runs, func(r summary.Run) bool { return labelOf(r, by) != "" }) {
		return usage(fmt.Errorf("--by: no run has a label %q", by))
	}
	var sources []rundir.Folder
	for _, r := range runs {
		sources = append(sources, r.Folder)
	}
	s := l.settings
	s.Program, s.Now, s.Read = buildVersion(), time.Now(), observations
	s.Host, s.User = thisPlace()
	if s.Slots, err = slotsOf(sources); err != nil {
		return usage(err)
	}
	pack, err := publish.Make(ctx, sources, s)
	if err != nil {
		return runner.Unusable(ctx, err)
	}
	reportLeftOut(stderr, pack.Damaged)
	fmt.Fprintf(stdout, "%s: %d runs in %d files\n", printable(filepath.Join(s.Out, publish.IndexFile)), len(pack.Runs), len(pack.Files)+1)
	if len(pack.LeftOut) > 0 {
		fmt.Fprintf(stdout, "left out of the runs: %s\n", printable(strings.Join(pack.LeftOut, ", ")))
	}
	if len(s.With) > 0 {
		fmt.Fprintf(stdout, "as they are, with any names and secrets in them: %s; read them before you upload the pack\n", terminal.Join(s.With))
	}
	return nil
}

// labelOf returns a label of a run, or the value that a comparison uses in its place.
func labelOf(r summary.Run, name string) string {
	o := compare.FromRun(r)
	return o.Label(name)
}

// check refuses flags that contradict each other.
func (l *publishLine) check() error {
	switch {
	case len(l.folders) == 0:
		return errors.New("publish: name the folders of runs; try uma-load publish --help")
	case l.settings.Out == "":
		return errors.New("--out: name the folder of the pack")
	}
	out, err := real(l.settings.Out)
	for _, dir := range l.folders {
		from, failure := real(dir)
		err = errors.Join(err, failure)
		if way, _ := filepath.Rel(from, out); filepath.IsLocal(way) {
			return fmt.Errorf("--out: %s lies in %s: its runs would then be there twice", l.settings.Out, dir)
		}
	}
	return err
}

// real returns an absolute path with symbolic links resolved. For a path that does not exist yet, it resolves the part
// that does.
func real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	there := existing(path)
	linked, err := filepath.EvalSymlinks(there)
	if err != nil {
		return "", err
	}
	return linked + strings.TrimPrefix(path, there), nil
}

// verifyPack checks the checksums of a pack.
func (l *publishLine) verifyPack(stdout io.Writer) error {
	if len(l.folders) > 0 || l.settings.Out != "" {
		return usage(errors.New("--verify: it takes no folders of runs and no --out"))
	}
	pack, problems, err := publish.Verify(l.verify)
	if err != nil {
		return usage(fmt.Errorf("--verify: %w", err))
	}
	for _, problem := range problems {
		fmt.Fprintln(stdout, printable(problem))
	}
	if len(problems) > 0 {
		output := "1 file is not as it was packed"
		if n := len(problems); n > 1 {
			output = fmt.Sprintf("%d files are not as they were packed", n)
		}
		return fmt.Errorf("%s: %s", l.verify, output)
	}
	fmt.Fprintf(stdout, "%s: %d files are as they were packed\n", printable(l.verify), len(pack.Files))
	return nil
}

// observations reads runs as observations for a comparison.
func observations(paths []string) ([]compare.Run, error) {
	var runs []compare.Run
	for _, o := range summary.OpenAll(paths) {
		if o.Err != nil {
			return nil, o.Err
		}
		runs = append(runs, compare.FromRun(o.Run))
	}
	return runs, nil
}

// thisPlace returns the names of this machine and its user, which may appear in texts of runs made here; empty if
// unknown.
func thisPlace() (host, login string) {
	host, _ = os.Hostname()
	if who, err := user.Current(); err == nil {
		login = who.Username
	}
	return host, login
}

// slotsOf returns the slots of the campaigns whose folders contain the runs.
func slotsOf(sources []rundir.Folder) ([]publish.Slot, error) {
	var all []publish.Slot
	var seen []string
	for _, run := range sources {
		dir := filepath.Dir(filepath.Clean(string(run)))
		if slices.Contains(seen, dir) {
			continue
		}
		seen = append(seen, dir)
		name, attempts, err := campaign.ReadAttempts(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the run belongs to no campaign
		}
		if err != nil {
			return nil, err
		}
		for _, a := range attempts {
			all = append(all, publish.Slot{
				Campaign: name, Number: a.Slot.Number, Iteration: a.Iteration, Round: a.Round, RepeatsRound: a.Repeats, Model: a.Model, Arm: a.Arm, Scenario: a.Scenario,
				Attempt: a.Number, Run: a.Run, Status: string(a.Status), Reason: a.Problem,
			})
		}
	}
	return all, nil
}
