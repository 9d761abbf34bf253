package demo

import (
	"sync"
	"time"

	"github.com/umascope/umascope/cmd/internal/demo/timeline"
	"github.com/umascope/umascope/loadgen/compare"
)

// shown is what one start of the demo has made, and all that its page tells of. What an interrupt has kept from being
// made is not there: a nil comparison, an exit code that is notMade.
type shown struct {
	// out is the folder that was asked for, in which the page of the newest demo lies. folder is that of this start in
	// it: everything else is below it.
	out, folder string
	options     showOptions
	// speed is how many times as fast as the wall clock those of the machines go.
	speed float64

	// begun and ended are by the wall clock, on which latencies are. machineBegun and machineEnded are by the clocks
	// of the machines, which go together: all samples of machines, alerts and accounts are on it.
	begun, ended               time.Time
	machineBegun, machineEnded time.Time

	campaigns []*shownCampaign
	trials    []*shownTrial
	events    []shownEvent

	// timeline has the samples of all machines, firings what the rules have found in them. Nil where it could not be
	// opened.
	timeline *timeline.Store
	firings  []timeline.Firing

	// interrupted says that it was ended before everything was made. problems are what went wrong, a line each.
	interrupted bool
	problems    []string
	noting      sync.Mutex // guards problems while the demo runs
}

// notMade is the exit code of what has not come about.
const notMade = -1

// shownCampaign is a campaign on a machine of its own.
type shownCampaign struct {
	name, title string // title is what differs from the other campaigns, in a few words
	host        string // the machine
	order       string // as in the plan
	dropsCaches bool   // before every start
	iterations  int    // of each arm

	// plan is the plan file and dir the folder with the runs.
	plan, dir string
	// commands are the command lines of uma-load that it was made with, without the program.
	commands [][]string
	// exit is that of campaign run.
	exit int

	// comparison is what compare --json says, page the file that compare --html has written; comparisonFile has the
	// JSON. Nil and empty where there is none.
	comparison           *compare.Comparison
	comparisonFile, page string
	// accounts are the simulator's own, a start each.
	accounts []account
	// invalid are the runs that enter no figure.
	invalid []shownInvalid
	problem string // why something of it is missing, a line
}

// shownInvalid is a run that uma-load calls invalid.
type shownInvalid struct {
	run, arm, why string
}

// shownTrial is a single run with an expectation.
type shownTrial struct {
	name, title string
	host        string
	// folder is that of the run.
	folder string
	// command is the command line of uma-load, without the program.
	command []string
	// exit is uma-load's exit code, wanted what it has to be.
	exit, wanted int
	// wrongKV says that blocks which come back from the drive hold something else than what was stored.
	wrongKV bool
	problem string
}

// shownEvent is something that was done to a machine, by its clock.
type shownEvent struct {
	name, alert, host string
	from, until       time.Time // until is zero if it was cut off
}
