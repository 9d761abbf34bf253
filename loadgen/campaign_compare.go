package loadgen

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Files of a comparison in the folder of a campaign.
const (
	comparisonFile     = "comparison.json"
	comparisonPageFile = "comparison.html"
	comparisonTextFile = "comparison.md"
)

// compareArms compares the campaign's arms by the runs that exist, saves the comparison in the campaign's folder and
// prints it. If fewer than two arms have runs, it prints that.
func compareArms(stdout io.Writer, planned *plan.Plan, dir string) error {
	if len(planned.Arms) < 2 {
		return nil
	}
	c, runs, damaged, err := compareCampaign(planned, dir)
	reportLeftOut(stdout, damaged)
	if err != nil {
		return err
	}
	into, title := rundir.Folder(dir), "Campaign "+planned.Name
	err = errors.Join(
		into.WriteJSON(comparisonFile, c),
		into.Write(comparisonPageFile, func(w io.Writer) error { return comparison.HTML(w, title, c) }),
		into.Write(comparisonTextFile, func(w io.Writer) error { return comparison.Markdown(w, title, c) }),
		writeRunsPage(into, c, runs, stdout),
	)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	if err := comparison.Brief(stdout, c); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\ncomparison: %s\nruns, over time: %s\n", filepath.Join(dir, comparisonPageFile), filepath.Join(dir, rundir.HTMLFile))
	return err
}
