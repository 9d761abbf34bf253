package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// waits is the result of a gate that is shut now. A run waits until it opens.
const waits arm.Result = "waits"

// preflightRow is one check with its result, for all arms that have that result.
type preflightRow struct {
	arm.Finding
	arms []string // empty: the whole campaign
	// optional is true if all of these arms are optional.
	optional bool
}

// of returns the subject of the check.
func (r preflightRow) of() string {
	if len(r.arms) == 0 {
		return "campaign"
	}
	return strings.TrimSuffix(strings.Join(r.arms, ", ")+": "+r.Process, ": ")
}

// preflight holds the results of the checks that a campaign makes before its first slot.
type preflight struct{ rows []preflightRow }

// checkMachine makes the preflight. It starts no process of an arm.
func (l *planLine) checkMachine(ctx context.Context, dir string, sense machineSense) (*preflight, error) {
	cells, err := l.cells(dir, l.only)
	if err != nil {
		return nil, err
	}
	left, err := l.leftOver(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &preflight{}
	p.root(ctx, l.planned, cells)
	p.commands(cells)
	p.exporters(ctx, cells)
	p.evicted(cells)
	for _, c := range cells {
		needs := arm.Needs{Dir: campaign.ArmFolder(dir, c.Model.Name, c.Arm.Name), ExpectedBytes: c.Model.ExpectedBytes, URL: c.Flags["url"], LeftOver: left}
		for _, found := range arm.Check(ctx, c.Arm, needs) {
			p.add(found, c.Arm)
		}
	}
	look, _ := campaign.LookAt(dir) // there is none before the first run
	p.gates(ctx, cells, sense, look)
	return p, nil
}

// leftOver reports whether a killed invocation left processes running. They are ended before the first slot.
func (l *planLine) leftOver(ctx context.Context, dir string) (bool, error) {
	all, err := l.cells(dir, plan.Filter{})
	if err != nil {
		return false, err
	}
	for _, c := range all {
		if found, err := arm.Leftovers(ctx, c.Arm, campaign.ArmFolder(dir, c.Model.Name, c.Arm.Name)); err != nil || len(found) > 0 {
			return true, nil // the campaign ends it, or names it if it cannot be read
		}
	}
	return false, nil
}

// add adds a result, as one row for arms that share it. A result without an arm applies to the whole campaign.
func (p *preflight) add(found arm.Finding, of ...plan.Arm) {
	at := slices.IndexFunc(p.rows, func(r preflightRow) bool { return r.Finding == found })
	if at < 0 {
		at = len(p.rows)
		p.rows = append(p.rows, preflightRow{Finding: found, optional: len(of) > 0})
	}
	row := &p.rows[at]
	for _, a := range of {
		row.optional = row.optional && a.Optional
		if !slices.Contains(row.arms, a.Name) {
			row.arms = append(row.arms, a.Name)
		}
	}
}

func (p *preflight) addErr(check, detail string, err error) {
	result := arm.Passes
	if err != nil {
		result, detail = arm.Fails, err.Error()
	}
	p.add(arm.Finding{Check: check, Result: result, Detail: detail})
}

// root checks sudo -n, if the plan needs root.
func (p *preflight) root(ctx context.Context, planned *plan.Plan, cells []*plan.Cell) {
	var more []string
	if planned.PageCache.Policy == "drop" {
		more = append(more, campaign.DropCachesCommand)
	}
	var arms []plan.Arm
	for _, c := range cells {
		arms = append(arms, c.Arm)
		for _, one := range c.Arm.Processes {
			if one.Host == "" && one.Container == "" {
				more = append(more, sudoed(one.Argv)...)
			}
		}
		for _, one := range c.Commands() {
			more = append(more, sudoed(one.Argv)...)
		}
	}
	how, err := arm.Root(ctx, arms, more...)
	p.addErr("root", how, err)
}

// sudoed returns the program that a command runs with sudo, or nil if it uses none.
func sudoed(argv []string) []string {
	at := slices.IndexFunc(argv[1:], func(word string) bool { return !strings.HasPrefix(word, "-") })
	if argv[0] != "sudo" || at < 0 {
		return nil
	}
	path, err := exec.LookPath(argv[1+at])
	if err != nil {
		path = argv[1+at]
	}
	return []string{path}
}

// commands checks that the programs of these commands exist.
func (p *preflight) commands(cells []*plan.Cell) {
	for _, c := range cells {
		for _, one := range c.Commands() {
			path, err := exec.LookPath(one.Argv[0])
			p.addErr("program "+one.Argv[0]+" of "+one.Kind+" "+one.Name, path, err)
		}
	}
}

// exporters checks the exporters that a plan names. Without them every run fails.
func (p *preflight) exporters(ctx context.Context, cells []*plan.Cell) {
	var asked []string
	for _, c := range cells {
		for _, text := range c.Telemetry {
			if slices.Contains(asked, text) {
				continue
			}
			asked = append(asked, text)
			name, _, _ := strings.Cut(text, "=")
			p.addErr("telemetry: "+name, "answers", probe(ctx, text, c.Flags[runner.TelemetryAccessFlag]))
		}
	}
}

// evicted checks the paths whose page cache is evicted before each start.
func (p *preflight) evicted(cells []*plan.Cell) {
	for _, c := range cells {
		for _, path := range c.PageCache.Paths {
			_, err := os.Stat(path)
			if errors.Is(err, fs.ErrNotExist) {
				err = errors.New("does not exist")
			}
			p.addErr("page_cache "+path, "is there", err)
		}
	}
}

// probe requests the page of an exporter, with the credentials in the access file.
func probe(ctx context.Context, text, access string) error {
	source, err := runner.ParseSource(text)
	if err != nil {
		return err
	}
	admitted, err := telemetry.Admitted([]telemetry.Source{source}, access)
	if err != nil {
		return fmt.Errorf("--%s %s: %w", runner.TelemetryAccessFlag, access, err)
	}
	return telemetry.Probe(ctx, admitted[0])
}

// gates compares the gates with the current values. A run waits for a gate that is shut.
func (p *preflight) gates(ctx context.Context, cells []*plan.Cell, sense machineSense, look *campaign.Look) {
	seen := map[string]bool{}
	for _, c := range cells {
		key := fmt.Sprint(c.Telemetry, c.Model.ExpectedBytes, c.Flags["url"])
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, g := range campaign.GatesNow(ctx, sense.ask, c, look) {
			result := arm.Passes
			switch {
			case !g.Observed:
				result = arm.Unchecked
			case !g.Open:
				result = waits
			}
			p.add(arm.Finding{Check: "gate " + g.Name, Result: result, Detail: g.Detail})
		}
	}
}

// failing returns the checks that keep the campaign from starting.
func (p *preflight) failing() []preflightRow {
	return slices.DeleteFunc(slices.Clone(p.rows), func(r preflightRow) bool { return r.Result != arm.Fails || r.optional })
}

// refuse returns why the campaign does not start. If there are several reasons, it first prints them all.
func (p *preflight) refuse(stderr io.Writer) error {
	failing := p.failing()
	switch len(failing) {
	case 0:
		return nil
	case 1:
		r := failing[0]
		return fmt.Errorf("preflight: %s", strings.Join([]string{r.of(), r.Check, r.Detail}, ": "))
	}
	if err := printPreflight(stderr, failing); err != nil {
		return err
	}
	return fmt.Errorf("preflight: %d checks fail; nothing is started", len(failing))
}

// print prints the number of checks by result, then every check; the ones that keep the campaign from starting come
// first.
func (p *preflight) print(w io.Writer) error {
	results := []arm.Result{arm.Fails, waits, arm.Unchecked, arm.Passes}
	var counts []string
	var rows []preflightRow
	for _, result := range results {
		before := len(rows)
		for _, r := range p.rows {
			if r.Result == result {
				rows = append(rows, r)
			}
		}
		if n := len(rows) - before; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, result))
		}
	}
	if _, err := fmt.Fprintf(w, "preflight: %s\n\n", strings.Join(counts, ", ")); err != nil {
		return err
	}
	return printPreflight(w, rows)
}

func printPreflight(w io.Writer, rows []preflightRow) error {
	table := render.Table{Header: []string{"result", "of", "check", "found"}}
	for _, r := range rows {
		of := r.of()
		if r.optional && r.Result == arm.Fails {
			of += " (optional)"
		}
		table.Add(string(r.Result), of, r.Check, strings.ReplaceAll(r.Detail, "\n", "; "))
	}
	return render.TextTable(w, table)
}

// logWaits logs the gates that are shut now. Their runs begin later.
func (p *preflight) logWaits(log *slog.Logger) {
	for _, r := range p.rows {
		if r.Result == waits {
			log.Info("preflight: "+r.Check+" is shut now", "why", r.Detail)
		}
	}
}
