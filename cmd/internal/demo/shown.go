package demo

import (
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/summary"
)

// shown is the result of one start of the demo, and the only input of its page. A part that an interrupt has prevented
// is absent: a nil comparison, run or heat.
type shown struct {
	// out is the folder that the flag names, with the page of the newest demo. folder is the folder of this start in
	// it, and contains all other files.
	out, folder  string
	options      showOptions
	begun, ended time.Time

	campaigns []*shownCampaign
	trials    []*shownTrial
	heat      *shownHeat
	// view has the samples of all machines, nil without them; alerts are the names of the alerts that its rules fired.
	view   *viewer
	alerts []string
	// interrupted reports that an interrupt came before everything was made. problems are the errors, a line each.
	interrupted bool
	problems    []string
	noting      sync.Mutex // guards problems while the demo runs
}

// shownCampaign is a campaign on a machine of its own.
type shownCampaign struct {
	name        string
	host        string // the machine
	title       string // the difference from the other campaigns
	order       string // as in the plan
	dropsCaches bool   // before every start
	iterations  int    // per arm
	// plan is the plan file and dir the folder with the runs.
	plan, dir string
	// page is the file of compare --html; empty without one.
	page       string
	comparison *compare.Comparison
	// accounts are the ground truth of the simulator, one per start.
	accounts []account
	fault    string // the reason why a part is missing
}

// shownTrial is a single run with an expected result.
type shownTrial struct {
	name, host, title string
	// wrong reports that the simulated engine returns other blocks than were stored, on purpose.
	wrong  bool
	wanted int          // the expected exit code of uma-load
	run    *summary.Run // nil without a finished run
	fault  string       // a result that differs from the expected one, or the reason why there is none
}

// shownHeat is the event of the demo: the room of a machine gets hot until an alert fires. until is zero if it was
// interrupted, fired if the alert was not seen.
type shownHeat struct {
	event
	host               string
	from, fired, until time.Time
}
