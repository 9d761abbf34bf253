package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/pagecache"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/scene"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// checkMachine looks for what would keep arms from coming up, before the first run: a night is lost soon.
// What an invocation that was killed has left is no obstacle: it is ended first.
func (l *planLine) checkMachine(ctx context.Context, dir string) error {
	cells, err := l.cells(dir, l.only)
	if err != nil {
		return err
	}
	all, err := l.cells(dir, plan.Filter{})
	if err != nil {
		return err
	}
	var more []string
	if l.planned.PageCache.Policy == pagecache.Drop {
		more = append(more, pagecache.SudoCommand)
	}
	var arms []plan.Arm
	for _, c := range cells {
		arms = append(arms, c.Arm)
	}
	left := false
	for _, c := range all {
		found, err := arm.Leftovers(ctx, c.Arm, campaign.ArmFolder(dir, c.Model.Name, c.Arm.Name))
		left = left || err != nil || len(found) > 0
	}
	if err := arm.Root(ctx, arms, more...); err != nil || left {
		return err
	}
	if silent := silentExporters(ctx, cells); len(silent) > 0 {
		return errors.New(silent[0])
	}
	for _, c := range cells {
		if problems := arm.Check(ctx, c.Arm, c.Model.ExpectedBytes); len(problems) > 0 && !c.Arm.Optional {
			return fmt.Errorf("arm %s, model %s: %s", c.Arm.Name, c.Model.Name, printable(problems[0].String()))
		}
	}
	return nil
}

// silentExporters are those that a plan names and that do not answer: every run would fail for them.
func silentExporters(ctx context.Context, cells []*plan.Cell) []string {
	var asked, silent []string
	for _, c := range cells {
		for _, text := range c.Telemetry {
			if slices.Contains(asked, text) {
				continue
			}
			asked = append(asked, text)
			if err := probe(ctx, text, c.Flags[scene.AccessFlag]); err != nil {
				name, _, _ := strings.Cut(text, "=")
				silent = append(silent, fmt.Sprintf("telemetry: %s: %s", printable(name), printable(err.Error())))
			}
		}
	}
	return silent
}

// probe says whether an exporter answers whoever has what the file says; no file is nothing.
func probe(ctx context.Context, text, access string) error {
	source, err := scene.ParseSource(text)
	if err != nil {
		return err
	}
	admitted, err := telemetry.Admitted([]telemetry.Source{source}, access)
	if err != nil {
		return fmt.Errorf("--%s %s: %w", scene.AccessFlag, access, err)
	}
	return telemetry.Probe(ctx, admitted[0])
}

// printObstacles prints what would keep runs from being made here and now.
func (l *planLine) printObstacles(ctx context.Context, stdout io.Writer, dir string) error {
	cells, err := l.cells(dir, l.only)
	if err != nil {
		return usage(err)
	}
	var lines []string
	for _, one := range silentExporters(ctx, cells) {
		lines = append(lines, "  "+one+"\n")
	}
	for _, c := range cells {
		for _, problem := range arm.Check(ctx, c.Arm, c.Model.ExpectedBytes) {
			if line := fmt.Sprintf("  arm %s: %s\n", c.Arm.Name, printable(problem.String())); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	_, err = fmt.Fprint(stdout, "what would keep runs from being made now:\n", strings.Join(lines, ""))
	return err
}
