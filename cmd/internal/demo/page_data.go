package demo

import (
	"sync"
	"time"
)

// shown is the result of one start of the demo, and the only input of its page. A part that an interrupt has prevented
// is absent: a nil comparison, the exit code notMade.
type shown struct {
	// out is the folder that the flag names, with the page of the newest demo. folder is the folder of this start in
	// it, and contains all other files.
	out, folder  string
	options      showOptions
	begun, ended time.Time

	campaigns []*shownCampaign
	trials    []*shownTrial
	events    []Event

	// view has the samples of all machines, nil without them; firings are the alerts that its rules have fired.
	view    *viewer
	firings []Firing

	// interrupted reports that an interrupt came before everything was made. problems are the errors, a line each.
	interrupted bool
	problems    []string
	noting      sync.Mutex // guards problems while the demo runs
}

// notMade is the exit code of a step that did not run.
const notMade = -1

// shownCampaign is a campaign on a machine of its own, with what the page shows of it. Its title is the difference from
// the other campaigns, in a few words; its fault is the reason why a part is missing.
type shownCampaign struct {
	Campaign
	name        string
	host        string // the machine
	order       string // as in the plan
	dropsCaches bool   // before every start
	iterations  int    // per arm
	// plan is the plan file and dir the folder with the runs.
	plan, dir string
	// page is the file of compare --html; empty where there is none.
	page string
	// accounts are the ground truth of the simulator, one per start.
	accounts []account
}

// shownTrial is a single run with an expected result, with what the page shows of its answers. Its exit code is notMade
// until it was made; its fault is the reason why something of it is missing.
type shownTrial struct {
	Judged
	name, host string
	// folder is the run folder.
	folder string
	// command is the command line of uma-load, without the program.
	command []string
}
