package compare

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/rundir"
)

// Labels that a campaign sets on its runs.
const (
	labelCampaign = "campaign"
	labelRound    = "round"
	labelPair     = "pair"
)

// pair returns the round of a campaign, in which every arm has a run of the same model and scenario.
func (r observed) pair() string {
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

// checkTolerance is the relative difference of the values of a check that counts as none.
const checkTolerance = 0.02

// campaignFacts adds the actions and findings of the campaign before and after the run.
func (r observed) campaignFacts(f *factList) {
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
		if r.recorded() { // the facts of what ran have the options
			options = ""
		}
		f.add("process "+p.Name, strings.TrimSpace(p.Program+" "+options)+where)
	}
	for _, collected := range c.Collected {
		f.add("collected "+collected.Name, shortHash(collected.SHA256))
	}
	if p := c.PageCache; p != nil {
		f.add("page cache before the engine", p.Policy)
		if p.AfterBytes != nil {
			left := float64(*p.AfterBytes)
			f.number("files in the page cache before the engine", &left, memoryTolerance, "bytes")
		}
	}
	if c.Placement != "" {
		f.add("processes of the arm in", c.Placement)
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

// gateFacts adds the state of the machine when a run was admitted, as read by gates.
func gateFacts(f *factList, gates []rundir.Gate) {
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

// shortHash returns the part of a hash that is enough to distinguish two.
func shortHash(sha256 string) string { return sha256[:min(len(sha256), 12)] }
