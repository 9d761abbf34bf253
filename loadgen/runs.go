package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"

	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
)

const runsHelp = `Manage runs: list, pin, prune, archive.

  uma-load runs list
  uma-load runs pin 20261105T141503Z-native-a1b2c3
  uma-load runs prune --keep 50 --older-than 30d        # says what would go
  uma-load runs prune --keep 50 --older-than 30d --yes  # removes it
  uma-load runs archive runs/a runs/b --to old.tar.gz --delete
  tar -xzf old.tar.gz -C runs                           # brings them back`

const (
	listHelp = "List runs, the oldest first.\n\n  uma-load runs list\n  uma-load runs list --runs /data/runs --json"

	pinHelp   = "Keep runs from being pruned.\n\n  uma-load runs pin 20261105T141503Z-native-a1b2c3"
	unpinHelp = "Let runs be pruned again.\n\n  uma-load runs unpin 20261105T141503Z-native-a1b2c3"
)

const pruneHelp = `Remove runs that are old, or not among the newest.

  uma-load runs prune --keep 50 --older-than 30d        # says what would go
  uma-load runs prune --keep 50 --older-than 30d --yes  # removes it

If both are said, what goes is both. Without --yes it only says which.

Never removed are runs that are pinned, that may still go on, that cannot be read, that have a file which no run writes, and those of sweeps, campaigns and packs, which are kept whole.`

const archiveHelp = `Write run folders into one .tar.gz.

  uma-load runs archive runs/a runs/b --to old.tar.gz
  uma-load runs archive runs/native-container --to nc.tar.gz --delete

Folders of sweeps and campaigns go as a whole. The archive is read again and held against the disk before it gets its name; with --delete the folders go then. tar -xzf brings them back.`

// runsLine holds the flags of the verb runs.
type runsLine struct {
	root   string
	names  []string
	asJSON bool
	rule   rundir.RetentionRule
	yes    bool
	to     string
	delete bool
}

func runsVerbs(app *kingpin.Application) []verb {
	runs := app.Command("runs", runsHelp)
	l := &runsLine{}
	root := func(clause *kingpin.CmdClause) *kingpin.CmdClause {
		terminal.Flag(clause, "runs", "Folder of run folders.", "runs", &l.root, terminal.Text)
		return clause
	}
	named := func(clause *kingpin.CmdClause) *kingpin.CmdClause {
		clause.Arg("run", "Folder of a run, or the name of one in --runs.").Required().StringsVar(&l.names)
		return root(clause)
	}
	list := root(runs.Command("list", listHelp))
	list.Flag("json", "Print JSON.").BoolVar(&l.asJSON)
	pin, unpin := named(runs.Command("pin", pinHelp)), named(runs.Command("unpin", unpinHelp))
	prune := root(runs.Command("prune", pruneHelp))
	terminal.Flag(prune, "keep", "How many of the newest runs stay.", "", &l.rule.Keep, terminal.AtLeast(0)).PlaceHolder("N")
	terminal.Flag(prune, "older-than", "How old a run is that goes, such as 30d or 12h.", "", &l.rule.OlderThan, parseAge).PlaceHolder("AGE")
	prune.Flag("yes", "Do it.").BoolVar(&l.yes)
	archive := named(runs.Command("archive", archiveHelp))
	terminal.Flag(archive, "to", "The archive; one that is there is not replaced.", "", &l.to, parseArchive).Required().PlaceHolder("FILE.tar.gz")
	archive.Flag("delete", "Remove the folders once the archive was verified.").BoolVar(&l.delete)
	l.rule.Keep = -1
	return []verb{
		{list, func(_ context.Context, p Program) error { return l.list(p.Stdout) }},
		{pin, func(context.Context, Program) error { return l.each(rundir.Pin) }},
		{unpin, func(context.Context, Program) error { return l.each(rundir.Unpin) }},
		{prune, func(ctx context.Context, p Program) error { return l.prune(ctx, p.Stdout, p.Stderr) }},
		{archive, func(ctx context.Context, p Program) error { return l.archive(ctx, p.Stdout) }},
	}
}

// parseAge accepts Go durations and days.
func parseAge(text string) (time.Duration, error) {
	if days, is := strings.CutSuffix(text, "d"); is {
		n, err := strconv.Atoi(days)
		if err == nil && n > 0 && n < 100_000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	age, err := terminal.PositiveDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not an age above 0, such as 30d or 12h", text)
	}
	return age, nil
}

// parseArchive accepts file names whose extension names the format.
func parseArchive(path string) (string, error) {
	if !strings.HasSuffix(path, ".tar.gz") && !strings.HasSuffix(path, ".tgz") {
		return "", fmt.Errorf("%q: want a name that ends in .tar.gz", path)
	}
	return path, nil
}

// entries returns the runs in the folder, the oldest first.
func (l *runsLine) entries() ([]rundir.Entry, error) {
	found, err := summary.Find([]string{l.root})
	if errors.Is(err, summary.ErrNoRun) {
		return nil, nil
	}
	if err != nil {
		return nil, usage(fmt.Errorf("--runs: %w", err))
	}
	return summary.Entries(l.root, found)
}

// list carries out runs list.
func (l *runsLine) list(stdout io.Writer) error {
	all, err := l.entries()
	if err != nil {
		return err
	}
	if !l.asJSON {
		return printEntries(stdout, all)
	}
	return openai.PrintJSON(stdout, append([]rundir.Entry{}, all...))
}

// paths returns the folders that were named.
func (l *runsLine) paths() ([]string, error) {
	var paths []string
	for _, name := range l.names {
		path := name
		if _, err := os.Stat(path); err != nil {
			path = filepath.Join(l.root, name)
		}
		if _, err := summary.Find([]string{path}); errors.Is(err, fs.ErrNotExist) {
			return nil, usage(fmt.Errorf("%s: no such run: uma-load runs list --runs %s names those that there are", name, l.root))
		} else if err != nil {
			return nil, usage(fmt.Errorf("%s: %w", name, err))
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// each calls do for each run folder that was named.
func (l *runsLine) each(do func(path string) error) error {
	paths, err := l.paths()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(path, rundir.ManifestFile)); err != nil {
			return usage(fmt.Errorf("%s: it is no folder of a run", path))
		}
		if err := do(path); err != nil {
			return err
		}
	}
	return nil
}

// prune carries out runs prune.
func (l *runsLine) prune(ctx context.Context, stdout, stderr io.Writer) error {
	if l.rule.Keep < 0 && l.rule.OlderThan == 0 {
		return usage(errors.New("runs prune: name the runs that go: --keep, --older-than or both"))
	}
	all, err := l.entries()
	if err != nil {
		return err
	}
	choices := l.rule.Choose(all, time.Now())
	if err := printChoices(stdout, choices); err != nil {
		return err
	}
	if !l.yes {
		fmt.Fprintln(stderr, "uma-load: nothing was removed: --yes does it")
		return nil
	}
	var errs []error
	for _, c := range choices {
		if c.Goes && ctx.Err() == nil {
			errs = append(errs, c.Remove(time.Now()))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// archive carries out runs archive.
func (l *runsLine) archive(ctx context.Context, stdout io.Writer) error {
	if err := checkPlace("--to", l.to); err != nil {
		return usage(err)
	}
	paths, err := l.paths()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := ended(path); err != nil {
			return usage(err)
		}
	}
	files, err := rundir.ArchiveRuns(ctx, paths, l.to)
	if err != nil {
		return runner.Unusable(ctx, err)
	}
	fmt.Fprintf(stdout, "%s: %d files and folders, held against the disk\n", printable(l.to), files)
	if !l.delete {
		return nil
	}
	return rundir.RemoveArchived(ctx, paths, l.to)
}

// ended returns an error unless all runs of a folder have ended.
func ended(path string) error {
	of := &runsLine{root: path}
	all, err := of.entries()
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.State == rundir.EntryRunning {
			return fmt.Errorf("%s: the run goes on, or was killed less than %s ago", e.Path, rundir.QuietPeriod)
		}
	}
	return nil
}
