package demo

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// compared returns a campaign in ABBA order in which the container occupies 11 GiB more. The run with the number
// invalid, from 1 on, is invalid; the run with the number lacking is valid and has no figure of memory. 0 is no run.
func compared(t *testing.T, invalid, lacking int) *shownCampaign {
	t.Helper()
	c := &shownCampaign{name: "equal", title: "Every start alike", order: orderABBA, iterations: 4}
	var runs []compare.Run
	for i, arm := range strings.Fields("native container container native native container container native") {
		occupied := float64(42*gib + i<<20)
		if arm == "container" {
			occupied += 11 * gib
		}
		at := time.Unix(int64(5*i), 0)
		r := compare.Run{
			ID: arm + string(rune('1'+i)), Path: "runs/x", Scenario: "standard", Model: "m", Engine: "vllm", Host: "spark-equal",
			Labels: map[string]string{"arm": arm}, WorkloadSHA256: "w", StartedAt: at, EndedAt: at.Add(4 * time.Second), BootID: "b",
			Valid: i+1 != invalid, Mode: "simulated", Simulated: true,
			Metrics: map[string]float64{figure.MemoryOccupiedWithoutKV: occupied, figure.OutputTokensPerSecond: 120},
		}
		if i+1 == lacking {
			delete(r.Metrics, figure.MemoryOccupiedWithoutKV)
		}
		if !r.Valid {
			r.InvalidReasons = []string{"client_lag"}
		}
		runs = append(runs, r)
		c.accounts = append(c.accounts, account{arm: arm, at: at, occupiedWithoutKVBytes: int64(occupied)})
	}
	comparison, err := compare.Compare(runs, compare.Options{By: "arm", Baseline: "native"})
	if err != nil {
		t.Fatal(err)
	}
	c.comparison = &comparison
	return c
}

func TestTheGroundTruthIsOfTheRunsThatWereCompared(t *testing.T) {
	for name, c := range map[string]*shownCampaign{"invalid": compared(t, 3, 0), "without the figure": compared(t, 0, 3)} {
		c.accounts[2].occupiedWithoutKVBytes = 1e15 // of the run that is not compared
		truth := c.groundTruth()
		if truth == nil || truth.a != 4 || truth.b != 3 || math.Abs(truth.difference-11*gib) > gib {
			t.Errorf("%s: %+v", name, truth)
		}
	}
}

func TestStartsThatCannotBeMatchedWithRunsAreNoGroundTruth(t *testing.T) {
	for name, change := range map[string]func(*shownCampaign){
		"one more":      func(c *shownCampaign) { c.accounts = append(c.accounts, c.accounts[0]) },
		"another order": func(c *shownCampaign) { c.accounts[0], c.accounts[1] = c.accounts[1], c.accounts[0] },
		"no comparison": func(c *shownCampaign) { c.comparison = nil },
	} {
		c := compared(t, 0, 0)
		change(c)
		if truth := c.groundTruth(); truth != nil {
			t.Errorf("%s: %+v", name, truth)
		}
	}
}

func TestGroundTruthOutsideTheIntervalIsMarked(t *testing.T) {
	truth := &groundTruth{difference: 3 * gib, a: 4, b: 4}
	for ci, want := range map[compare.Interval]render.Tone{{gib, 2 * gib}: render.Bad, {4 * gib, 5 * gib}: render.Bad, {2 * gib, 4 * gib}: render.Good} {
		if text, tone := truth.describe(&ci); tone != want || !strings.Contains(text, "+3.00 GiB") {
			t.Errorf("%v: %s (%s)", ci, text, tone)
		}
	}
	var none *groundTruth
	if text, tone := none.describe(nil); tone != render.Note || !strings.Contains(text, "none") {
		t.Errorf("%s (%s)", text, tone)
	}
}
