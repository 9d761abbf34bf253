package loadgen

import (
	"context"
	"fmt"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// checkMachine makes the preflight. It starts no process of an arm.
func (l *planLine) checkMachine(ctx context.Context, dir string, sense machineSense) (*campaign.Preflight, error) {
	cells, err := l.cells(dir, l.only)
	if err != nil {
		return nil, err
	}
	left, err := l.leftOver(ctx, dir)
	if err != nil {
		return nil, err
	}
	return campaign.MakePreflight(ctx, campaign.PreflightInput{
		Plan: l.planned, Cells: cells, Dir: dir, LeftOver: left, Sense: sense.ask, Probe: probeExporter,
	}), nil
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

// probeExporter requests the page of an exporter, with the credentials in the access file.
func probeExporter(ctx context.Context, text string, of *plan.Cell) error {
	access := of.Flags[runner.TelemetryAccessFlag]
	source, err := runner.ParseSource(text)
	if err != nil {
		return err
	}
	admitted, err := telemetry.Admitted([]telemetry.Source{source}, access, nil)
	if err != nil {
		return fmt.Errorf("--%s %s: %w", runner.TelemetryAccessFlag, access, err)
	}
	return telemetry.Probe(ctx, admitted[0])
}
