package runindex

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/umascope/umascope/loadgen/rundir"
)

// Labels that a campaign puts on its runs.
const (
	labelCampaign = "campaign"
	labelRound    = "round"
	labelPair     = "pair"
)

// pair names the round of a campaign, in which every arm has a run of the same model and scenario.
func (r Run) pair() string {
	l := r.Summary.Labels
	switch {
	case l[labelCampaign] == "":
		return ""
	case l[labelPair] != "":
		return fmt.Sprintf("%q %q", l[labelCampaign], l[labelPair])
	case l[labelRound] != "":
		return fmt.Sprintf("%q %q %q %q", l[labelCampaign], cmp.Or(l[labelModel], r.model()), r.Summary.Scenario, l[labelRound])
	default:
		return ""
	}
}

// checkTolerance is how much of the value of a check is no difference.
const checkTolerance = 0.02

// campaignFacts say what was done and found around the run.
func (r Run) campaignFacts(f *facts) {
	c := r.Manifest.Campaign
	if c == nil {
		return
	}
	for _, p := range c.Processes {
		where := ""
		if p.Container != "" {
			where = " in " + p.Container
		}
		if p.Host != "" {
			where += " on " + p.Host
		}
		options := strings.Join(p.Options, " ")
		if r.recorded() { // which has them, whatever their order
			options = ""
		}
		f.add("process "+p.Name, strings.TrimSpace(p.Program+" "+options)+where)
	}
	for _, file := range c.Files {
		if file.SHA256 != "" { // of runs from before keyed hashes
			f.add("file "+filepath.Base(file.Path), short(file.SHA256))
		}
	}
	for _, collected := range c.Collected {
		f.add("collected "+collected.Name, short(collected.SHA256))
	}
	if p := c.PageCache; p != nil {
		f.add("page cache before the engine", p.Policy)
		if p.AfterBytes != nil {
			left := float64(*p.AfterBytes)
			f.number("files in the page cache before the engine", &left, memoryTolerance, "bytes")
		}
	}
	if c.LockedClockHertz != nil {
		f.add("GPU clocks locked to", fmt.Sprintf("%g MHz", *c.LockedClockHertz/1e6))
	}
	gateFacts(f, c.Gates)
	for _, check := range c.Checks {
		if check.Value != nil {
			f.number("check "+check.Name+" "+check.When, check.Value, checkTolerance*max(*check.Value, -*check.Value), check.Unit)
		}
	}
}

// gateFacts say how the machine was when a run was let in, where a gate looked.
func gateFacts(f *facts, gates []rundir.Gate) {
	for _, g := range gates {
		if g.Value == nil {
			continue
		}
		tolerance, known := map[string]float64{"bytes": memoryTolerance, "celsius": celsiusTolerance}[g.Unit]
		if known {
			f.number("gate "+g.Name, g.Value, tolerance, g.Unit)
		}
	}
}

// short is enough of a hash to tell two apart.
func short(sha256 string) string { return sha256[:min(len(sha256), 12)] }
