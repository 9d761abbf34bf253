package campaign

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

	"github.com/umascope/umascope/loadgen/campaign/arm"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/render"
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

// Preflight holds the results of the checks that a campaign makes before its first slot.
type Preflight struct{ rows []preflightRow }

// PreflightInput is what a preflight checks.
type PreflightInput struct {
	Plan *plan.Plan
	// Cells are the selected arms with their models, Dir is the folder of the campaign.
	Cells []*plan.Cell
	Dir   string
	// LeftOver is true if a killed invocation left processes running. They are ended before the first slot.
	LeftOver bool
	// Sense returns the current state of the machine, Probe an error unless an exporter that a plan names answers.
	Sense func(ctx context.Context, of *plan.Cell) Machine
	Probe func(ctx context.Context, exporter string, of *plan.Cell) error
}

// MakePreflight makes all checks. It starts no process of an arm.
func MakePreflight(ctx context.Context, in PreflightInput) *Preflight {
	p := &Preflight{}
	p.root(ctx, in.Plan, in.Cells)
	p.commands(in.Cells)
	p.exporters(ctx, in)
	p.evicted(in.Cells)
	for _, c := range in.Cells {
		needs := arm.Needs{Dir: ArmFolder(in.Dir, c.Model.Name, c.Arm.Name), ExpectedBytes: c.Model.ExpectedBytes, URLs: plan.Lines(c.Flags["url"]), LeftOver: in.LeftOver}
		for _, found := range arm.Check(ctx, c.Arm, needs) {
			p.add(found, c.Arm)
		}
	}
	look, _ := LookAt(in.Dir) // there is none before the first run
	p.gates(ctx, in, look)
	return p
}

// add adds a result, as one row for arms that share it. A result without an arm applies to the whole
func (p *Preflight) add(found arm.Finding, of ...plan.Arm) {
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

func (p *Preflight) addErr(check, detail string, err error) {
	result := arm.Passes
	if err != nil {
		result, detail = arm.Fails, err.Error()
	}
	p.add(arm.Finding{Check: check, Result: result, Detail: detail})
}

// root checks sudo -n, if the plan needs root.
func (p *Preflight) root(ctx context.Context, planned *plan.Plan, cells []*plan.Cell) {
	var more []string
	if planned.PageCache.Policy == "drop" {
		more = append(more, DropCachesCommand)
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
func (p *Preflight) commands(cells []*plan.Cell) {
	for _, c := range cells {
		for _, one := range c.Commands() {
			path, err := exec.LookPath(one.Argv[0])
			p.addErr("program "+one.Argv[0]+" of "+one.Kind+" "+one.Name, path, err)
		}
	}
}

// exporters checks the exporters that a plan names. Without them every run fails.
func (p *Preflight) exporters(ctx context.Context, in PreflightInput) {
	var asked []string
	for _, c := range in.Cells {
		for _, text := range c.Telemetry {
			if slices.Contains(asked, text) {
				continue
			}
			asked = append(asked, text)
			name, _, _ := strings.Cut(text, "=")
			p.addErr("telemetry: "+name, "answers", in.Probe(ctx, text, c))
		}
	}
}

// evicted checks the paths whose page cache is evicted before each start.
func (p *Preflight) evicted(cells []*plan.Cell) {
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

// gates compares the gates with the current values. A run waits for a gate that is shut.
func (p *Preflight) gates(ctx context.Context, in PreflightInput, look *Look) {
	seen := map[string]bool{}
	for _, c := range in.Cells {
		key := fmt.Sprint(c.Telemetry, c.Model.ExpectedBytes, c.Flags["url"])
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, g := range gatesNow(ctx, in.Sense, c, look) {
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
func (p *Preflight) failing() []preflightRow {
	return slices.DeleteFunc(slices.Clone(p.rows), func(r preflightRow) bool { return r.Result != arm.Fails || r.optional })
}

// Refuse returns why the campaign does not start. If there are several reasons, it first prints them all.
func (p *Preflight) Refuse(stderr io.Writer) error {
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

// Print prints the number of checks by result, then every check; the ones that keep the campaign from starting come
// first.
func (p *Preflight) Print(w io.Writer) error {
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

// LogWaits logs the gates that are shut now. Their runs begin later.
func (p *Preflight) LogWaits(log *slog.Logger) {
	for _, r := range p.rows {
		if r.Result == waits {
			log.Info("preflight: "+r.Check+" is shut now", "why", r.Detail)
		}
	}
}
