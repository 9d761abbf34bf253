package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Look is the state of a campaign, read from its folder.
type Look struct {
	Facts
	// Holder is the ID of the process that carries it out; 0 if there is none.
	Holder int
	known  *progress
	now    time.Time
	log    string // the log file that was written to last
	line   string // its last line
}

// LookAt reads the folder of a campaign. It does not lock it.
func LookAt(dir string) (*Look, error) {
	facts, err := ReadFacts(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no campaign is there", dir)
	}
	if err != nil {
		return nil, err
	}
	l := &Look{Facts: facts, now: time.Now()}
	if l.Holder, err = Holder(dir); err != nil {
		return nil, err
	}
	events, _, err := readJournal(filepath.Join(dir, JournalFile))
	if err != nil {
		return nil, err
	}
	l.known = replay(events)
	l.follow()
	l.log, l.line = lastLine(dir)
	return l, nil
}

// follow applies the journal, which is ahead of campaign.json if the program was killed or the disk was full.
func (l *Look) follow() {
	if l.known.began {
		l.State, l.Reason = l.known.state, l.known.reason
	}
	for i, s := range l.Slots {
		l.Slots[i] = l.known.facts(s.Slot)
		l.Slots[i].Unselected = s.Unselected
	}
}

// open returns the slot of the current run.
func (l *Look) open() *slotProgress {
	for _, s := range l.known.slots {
		if s.open {
			return s
		}
	}
	return nil
}

// since returns the time since the last run of the slot began.
func (l *Look) since(s *slotProgress) time.Duration {
	for i := len(l.known.events) - 1; i >= 0; i-- {
		if e := l.known.events[i]; e.Event == eventSlot && e.Slot == s.slot.Number {
			return l.now.Sub(e.At)
		}
	}
	return 0
}

// Stalled returns why a campaign seems to be stalled, or "".
func (l *Look) Stalled() string {
	s := l.open()
	switch {
	case l.Holder == 0 && l.known.state == Running:
		return "the process that carried it out is gone: " + GoesOn(l.Kind, l.Campaign) + " goes on where it ended"
	case l.Holder == 0 || s == nil:
		return ""
	}
	if took := l.since(s); took > l.known.patience(s.slot) {
		return fmt.Sprintf("%s runs for %s", s.slot, took.Round(time.Minute))
	}
	return ""
}

// GoesOn returns the command that continues a campaign.
func GoesOn(kind, name string) string {
	if kind == rundir.KindCampaign {
		return "campaign run"
	}
	return "uma-load " + kind + " --resume=" + name
}

// Measured returns how long a slot like this one took, from the end of its cooldown to the end of its arm.
func (l *Look) Measured(s plan.Slot) (time.Duration, bool) { return l.known.expected(s) }

// InCgroups reports whether the campaign began with cgroups of its arms.
func (l *Look) InCgroups() bool {
	return l.known.placement != "" && l.known.placement != arm.PlacedInGroups
}

// Over reports whether a slot needs no further run. repeat is the plan's.
func (l *Look) Over(s plan.Slot, repeat int) bool { return l.known.over(s.Number, repeat) }

// BytesOfRun returns the mean size of the folders of ended runs, or 0 if there is none.
func (l *Look) BytesOfRun(dir string) uint64 {
	var sum, n int64
	for _, s := range l.known.slots {
		if s.open || s.last != Finished {
			continue
		}
		n++
		_ = filepath.WalkDir(filepath.Join(dir, s.run), func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil // a folder that was moved away is not counted
			}
			if info, err := entry.Info(); err == nil {
				sum += info.Size()
			}
			return nil
		})
	}
	return uint64(sum / max(n, 1))
}

// Left estimates the remaining time from the runs that were measured. known is false if there were none.
func (l *Look) Left() (left time.Duration, slots int, known bool) {
	known = true
	for _, s := range l.Slots {
		if s.Unselected || s.Status != Pending && s.Status != Measuring && s.Status != Aborted {
			continue
		}
		slots++
		usual, measured := l.known.usual(s.Slot)
		known = known && measured
		if s.Status == Measuring && l.Holder != 0 {
			usual = max(usual-l.since(l.known.slots[s.Number]), 0)
		}
		left += usual
	}
	return left, slots, known
}

// Print writes the status for people.
func (l *Look) Print(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s: %s\n", l.Kind, openai.Printable(l.Campaign, openai.LongestForeign), l.headline())
	fmt.Fprintf(&b, "order %s, plan %.12s, began %s\n\n", l.Order, l.PlanSHA256, l.StartedAt.Format(time.RFC3339))
	l.table(&b)
	b.WriteByte('\n')
	if s := l.open(); s != nil && l.Holder != 0 {
		fmt.Fprintf(&b, "now   %s, attempt %d, for %s: %s\n", s.slot, s.attempts, l.since(s).Round(time.Second), s.doing)
	}
	switch left, slots, known := l.Left(); {
	case slots == 0:
	case known:
		fmt.Fprintf(&b, "left  %s, about %s by the runs so far\n", count(slots, "slot"), rounded(left))
	default:
		fmt.Fprintf(&b, "left  %s; how long that takes is not known before one was measured\n", count(slots, "slot"))
	}
	l.troubles(&b)
	if l.line != "" {
		fmt.Fprintf(&b, "log   %s: %s\n", openai.Printable(l.log, openai.LongestForeign), l.line)
	}
	if why := l.Stalled(); why != "" {
		fmt.Fprintf(&b, "STALLED  %s\n", why)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// rounded rounds a duration to a precision that suits an estimate.
func rounded(d time.Duration) string {
	if d < 10*time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

func (l *Look) headline() string {
	switch {
	case l.Holder != 0:
		return fmt.Sprintf("running as process %d", l.Holder)
	case l.known.state == Running:
		return "cut off"
	case l.Reason != "":
		return fmt.Sprintf("%s: %s", l.State, openai.Printable(l.Reason, openai.LongestForeign))
	default:
		return string(l.State)
	}
}

// row counts the slots of a cell.
type row struct {
	model, arm, scenario string
	counts               map[Status]int
}

// table prints the slots by model, arm and scenario.
func (l *Look) table(w io.Writer) {
	var rows []*row
	for _, s := range l.Slots {
		if s.Unselected {
			continue
		}
		var one *row
		for _, r := range rows {
			if r.model == s.Model && r.arm == s.Arm && r.scenario == s.Scenario {
				one = r
			}
		}
		if one == nil {
			one = &row{s.Model, s.Arm, s.Scenario, map[Status]int{}}
			rows = append(rows, one)
		}
		one.counts[s.Status]++
	}
	t := render.Table{Header: []string{"model", "arm", "scenario", "finished", "invalid", "failed", "skipped", "left"}}
	for _, r := range rows {
		left := r.counts[Pending] + r.counts[Measuring] + r.counts[Aborted]
		cells := []string{r.model, r.arm, r.scenario}
		for _, n := range []int{r.counts[Finished], r.counts[Invalid], r.counts[Failed], r.counts[Skipped], left} {
			cells = append(cells, strconv.Itoa(n))
		}
		t.Add(cells...)
	}
	_ = render.TextTable(w, t) // a write into memory does not fail
}

// mostTroubles is the most slots with problems that are listed.
const mostTroubles = 10

// troubles prints the last slots without a valid run, and gates that did not open.
func (l *Look) troubles(w io.Writer) {
	var lines []string
	for _, s := range l.Slots {
		if s.Problem != "" && s.Status != Finished {
			lines = append(lines, fmt.Sprintf("%-8s %s: %s", s.Status, s.Slot, openai.Printable(s.Problem, openai.LongestForeign)))
		}
		if len(s.Gates) > 0 {
			lines = append(lines, fmt.Sprintf("%-8s %s: %s", "gates", s.Slot, strings.Join(s.Gates, ", ")))
		}
	}
	if cut := len(lines) - mostTroubles; cut > 0 {
		fmt.Fprintf(w, "      %d more before these\n", cut)
		lines = lines[cut:]
	}
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}

// mostLine is the most of a log's end that is read, in bytes.
const mostLine = 4 << 10

// lastLine finds the log of an engine or the campaign that was written to last, and its last line.
func lastLine(dir string) (name, line string) {
	paths, _ := fs.Glob(os.DirFS(dir), armsFolder+"/*/*/logs/*.log") // the pattern is a constant and valid
	var newest time.Time
	for _, at := range append(paths, LogFile) {
		path := filepath.Join(dir, at)
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 || info.ModTime().Before(newest) {
			continue
		}
		if text := tail(path, info.Size()); text != "" {
			newest, name, line = info.ModTime(), at, text
		}
	}
	return name, line
}

// tail returns the last line with text of a file, made safe for a terminal.
func tail(path string, size int64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, max(size-mostLine, 0), mostLine))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return openai.Printable(strings.TrimSpace(lines[len(lines)-1]), openai.LongestForeign)
}
