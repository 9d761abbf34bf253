package recorder

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// ReportSchema names the form of a report in JSON.
const ReportSchema = "umascope.last-boot/1"

// End is how a boot or a recorder ended.
type End string

// The ends. A recorder that was not the last of its boot was stopped or killed; a boot ended in one of the other ways.
const (
	EndShutdown     End = metric.EndShutdown     // systemd shut the machine down, or started it again
	EndStopped      End = "stopped"              // the recorder was stopped, the machine went on
	EndOOM          End = "oom"                  // the kernel killed the recorder: the machine had no memory left
	EndCgroupOOM    End = "cgroup_oom"           // the kernel killed the recorder: a cgroup had reached its limit
	EndKilled       End = "killed"               // the recorder was killed, or crashed
	EndDriverErrors End = metric.EndDriverErrors // no shutdown, and errors of NVIDIA's driver before
	EndNoShutdown   End = metric.EndNoShutdown   // no shutdown: the machine hung, was reset, or lost power
	EndNotRecorded  End = metric.EndNotRecorded
)

// Certainty is how far the records prove an End.
type Certainty string

// The grades.
const (
	Proven      Certainty = "proven"
	Likely      Certainty = "likely"
	NotRecorded Certainty = "not recorded"
)

// Ending is the end of a recorder; that of a boot is the end of the last recorder in it.
type Ending struct {
	End       End       `json:"end"`
	Certainty Certainty `json:"certainty"`
	Summary   string    `json:"summary"`
	Evidence  []string  `json:"evidence"`
	// LastUnixMS is the wall clock of the last record, PID the recorder's.
	LastUnixMS int64 `json:"last_unix_ms"`
	PID        int   `json:"pid"`
	// Records are those of the minute before its end; only the latest ending of this boot has them.
	Records []Record `json:"records,omitempty"`
}

// Report is how the previous boot ended, and recorders before the present one in this boot, the latest first.
type Report struct {
	Schema string `json:"schema"`
	// Boot is nil if the ring has no record of an earlier boot.
	Boot *Ending  `json:"previous_boot,omitempty"`
	Here []Ending `json:"this_boot,omitempty"`
	// Notes are what a reader must know of the records themselves, such as a clock that was set back.
	Notes []string `json:"notes,omitempty"`
}

// ErrOtherMachine is the error of a ring whose records are all of other machines.
var ErrOtherMachine = errors.New("its records are of another machine")

const (
	lastMinute = time.Minute
	// soon is how long after a stop the next boot may begin for the stop to be likely a part of a shutdown: firmware of a
	// Spark takes about a minute.
	soon = 3 * time.Minute
	// setBack is how far the wall clock may fall behind the monotonic one before it counts as set back.
	setBack = 2 * time.Second
	// mostHere is the most endings of this boot in a report.
	mostHere = 10
)

// session is what one recorder wrote: at least one record.
type session []Record

func (s session) last() Record { return s[len(s)-1] }

// sessions splits records: a recorder has a PID in a boot, and begins with a start unless the ring was opened later.
func sessions(records []Record) []session {
	var all []session
	for i, r := range records {
		if i == 0 || r.Start != nil || r.Boot != records[i-1].Boot || r.PID != records[i-1].PID {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], r)
	}
	return all
}

// Judge reports on the records of a ring. Now is what is seen at present, as the record of a recorder that starts; running
// reports that the last recorder in the ring still records.
func Judge(found Contents, now Record, running bool) (Report, error) {
	report := Report{Schema: ReportSchema}
	records := slices.DeleteFunc(slices.Clone(found.Records), func(r Record) bool {
		return r.Machine != now.Machine && r.Machine != "" && now.Machine != ""
	})
	switch others := len(found.Records) - len(records); {
	case len(found.Records) == 0:
		return report, ErrNoRecord
	case len(records) == 0:
		return report, ErrOtherMachine
	case others > 0:
		report.note("%d records of another machine are left out", others)
	}
	if found.Damaged > 0 {
		report.note("%d records are damaged and left out", found.Damaged)
	}
	report.noteClock(records, now)
	all := sessions(records)
	for i := len(all) - 1; i >= 0; i-- {
		next := now
		if i+1 < len(all) {
			next = all[i+1][0]
		} else if running {
			continue
		}
		switch boot := all[i].last().Boot; {
		case boot == now.Boot && len(report.Here) < mostHere:
			ending := judge(all[i], next)
			if len(report.Here) == 0 {
				ending.Records = minuteBefore(records, all[i].last())
			}
			report.Here = append(report.Here, ending)
		case boot != now.Boot:
			ending := judge(all[i], next)
			ending.Records = minuteBefore(records, all[i].last())
			report.Boot = &ending
			return report, nil
		}
	}
	return report, nil
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// noteClock reports a wall clock that was set back: records are in the order in which they were written, not of their times.
func (r *Report) noteClock(records []Record, now Record) {
	for i := 1; i <= len(records); i++ {
		before, after := records[i-1], now
		if i < len(records) {
			after = records[i]
		}
		passed := time.Duration(0) // between boots at least
		if before.Boot == after.Boot {
			passed = milliseconds(after.MonotonicMS - before.MonotonicMS)
		}
		if back := passed - milliseconds(after.UnixMS-before.UnixMS); back > setBack {
			r.note("the clock was set back by %v at %s: the order is that of writing", back.Round(time.Second), after.Time().UTC().Format(time.RFC3339))
		}
	}
	const most = 5
	if len(r.Notes) > most {
		r.Notes = append(r.Notes[:most], "and more of the kind")
	}
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// minuteBefore are the records of a boot in the minute before its last.
func minuteBefore(records []Record, last Record) []Record {
	var minute []Record
	for _, r := range records {
		if r.Boot == last.Boot && r.Sequence <= last.Sequence && milliseconds(last.MonotonicMS-r.MonotonicMS) <= lastMinute {
			minute = append(minute, r)
		}
	}
	return minute
}

// judge judges the end of a recorder by its records and by what was found next.
func judge(s session, next Record) Ending {
	last := s.last()
	e := Ending{LastUnixMS: last.UnixMS, PID: last.PID}
	sameBoot := next.Boot == last.Boot
	switch {
	case last.Stop != nil:
		e.judgeStop(*last.Stop, last, next)
	case sameBoot:
		e.judgeKill(s, next)
	default:
		e.judgeLoss(s, next)
	}
	return e
}

func (e *Ending) is(end End, certainty Certainty, summary string) {
	e.End, e.Certainty, e.Summary = end, certainty, summary
}

func (e *Ending) because(format string, args ...any) {
	e.Evidence = append(e.Evidence, fmt.Sprintf(format, args...))
}

// stopping is the answer of systemctl is-system-running while the machine shuts down.
const stopping = "stopping"

func (e *Ending) judgeStop(stop Stop, last, next Record) {
	sameBoot := next.Boot == last.Boot
	e.because("the recorder wrote that it was asked to stop")
	switch stop.System {
	case "":
		e.because("what systemd was doing then is not recorded")
	default:
		e.because("systemctl is-system-running answered %q then", stop.System)
	}
	gap := milliseconds(bootedMS(next) - last.UnixMS)
	if !sameBoot {
		e.because("the next boot began %s", after(gap))
	}
	switch {
	case sameBoot:
		e.is(EndStopped, Proven, "The recorder was stopped; the machine went on.")
	case stop.System == stopping:
		e.is(EndShutdown, Proven, "The machine was shut down or started again in an orderly way.")
	case stop.System == "" && gap >= -setBack && gap <= soon:
		e.is(EndShutdown, Likely, "The machine was probably shut down or started again in an orderly way.")
	default:
		e.is(EndNotRecorded, NotRecorded, "How the boot ended is not recorded: the recorder was stopped before.")
	}
}

// bootedMS is the wall clock at which the boot of a record began.
func bootedMS(r Record) int64 { return r.UnixMS - r.MonotonicMS }

// after describes the time from the last record to a later one by the wall clock, which may have been set.
func after(gap time.Duration) string {
	if gap < 0 {
		return "before the last record, by the clock, which was set back"
	}
	return gap.Round(time.Second).String() + " after the last record"
}

// judgeKill judges a recorder that ended without a stop while the boot went on.
func (e *Ending) judgeKill(s session, next Record) {
	e.because("there is no record of a stop, and the boot went on: it was the same %s", after(milliseconds(next.UnixMS-s.last().UnixMS)))
	start := Start{}
	if next.Start != nil {
		start = *next.Start
	}
	killedAs := map[bool]End{false: EndOOM, true: EndCgroupOOM}
	summary := map[bool]string{
		false: "the kernel killed the recorder because the machine had no memory left.",
		true:  "the kernel killed the recorder because a cgroup reached its limit of memory.",
	}
	for _, line := range start.Kernel {
		if int(line.Killed) == e.PID && line.MonotonicMS >= s[0].MonotonicMS {
			e.because("the kernel wrote: %s", line.Text)
			e.is(killedAs[line.Cgroup], Proven, capital(summary[line.Cgroup]))
			return
		}
	}
	before := s.oom()
	kills, killsKnown := grown(before.Kills, start.OOM.Kills)
	limits, limitsKnown := grown(before.GroupLimits, start.OOM.GroupLimits)
	groupKills, groupKnown := grown(before.GroupKills, start.OOM.GroupKills)
	switch {
	case start.KernelRead:
		e.because("the kernel log names no killed process %d", e.PID)
		e.is(EndKilled, Likely, "The recorder was probably killed by somebody (SIGKILL), or crashed.")
	case killsKnown && kills == 0:
		e.because("the kernel killed no process for lack of memory meanwhile")
		e.is(EndKilled, Likely, "The recorder was probably killed by somebody (SIGKILL), or crashed.")
	case killsKnown && groupKnown && groupKills > 0 && limitsKnown:
		e.because("the kernel killed %d processes for lack of memory meanwhile, %d of them in the cgroup above the recorder's, whose limits were reached %d times", kills, groupKills, limits)
		e.is(killedAs[limits > 0], Likely, "Probably "+summary[limits > 0])
	case killsKnown && groupKnown && groupKills == 0:
		e.because("the kernel killed %d processes for lack of memory meanwhile, none of them in the cgroup above the recorder's", kills)
		e.is(EndKilled, Likely, "The recorder was probably killed by somebody (SIGKILL), or crashed.")
	default:
		e.because("the kernel log was not read, so that why it ended is not recorded")
		e.is(EndNotRecorded, NotRecorded, "Why the recorder ended is not recorded.")
	}
}

// capital begins a sentence.
func capital(text string) string { return "T" + text[1:] }

// oom are the last counts of a session.
func (s session) oom() OOM {
	for _, r := range slices.Backward(s) {
		switch {
		case r.Sample != nil:
			return r.Sample.OOM
		case r.Start != nil:
			return r.Start.OOM
		}
	}
	return OOM{}
}

// grown is by how much a count grew; known is false if either is not recorded or the count was reset.
func grown(before, after *uint64) (by uint64, known bool) {
	if before == nil || after == nil || *after < *before {
		return 0, false
	}
	return *after - *before, true
}

// judgeLoss judges a recorder without a stop that was the last of its boot.
func (e *Ending) judgeLoss(s session, next Record) {
	last := s.last()
	e.because("there is no record of a stop, and the next record is of another boot, which began %s", after(milliseconds(bootedMS(next)-last.UnixMS)))
	read := false
	driver := 0
	for _, r := range minuteBefore(s, last) {
		if r.Sample == nil {
			continue
		}
		read = read || r.Sample.KernelRead
		for _, line := range r.Sample.Kernel {
			e.because("%v before the last record the kernel wrote: %s", milliseconds(max(0, last.MonotonicMS-line.MonotonicMS)).Round(100*time.Millisecond), line.Text)
			if line.Driver {
				driver++
			}
		}
	}
	driver += e.lostGPUs(s, last)
	switch {
	case !read:
		e.because("the kernel log was not read: errors of the driver and killed processes may be missing here")
	case driver == 0:
		e.because("in the last minute that was recorded the driver wrote no error to the kernel log")
	}
	const unless = " A recorder that was killed and not started again leaves the same records."
	if driver > 0 {
		e.is(EndDriverErrors, Likely, "The machine probably stopped without a shutdown, after errors of NVIDIA's driver."+unless)
		return
	}
	e.is(EndNoShutdown, Likely, "The machine probably stopped without a shutdown: it hung, was reset or lost power."+unless)
}

// lostGPUs counts signs of trouble of GPUs in the last minute that need no kernel log.
func (e *Ending) lostGPUs(s session, last Record) int {
	signs := 0
	xids := map[int]uint64{}
	for _, r := range minuteBefore(s, last) {
		if r.Sample == nil {
			continue
		}
		for _, g := range r.Sample.GPUs {
			before, known := xids[g.Index]
			if g.XIDs != nil {
				if known && *g.XIDs > before {
					e.because("GPU %d had %d critical errors (XID) %v before the last record", g.Index, *g.XIDs-before, milliseconds(last.MonotonicMS-r.MonotonicMS).Round(100*time.Millisecond))
					signs++
				}
				xids[g.Index] = *g.XIDs
			}
		}
	}
	if last.Sample != nil {
		for _, g := range last.Sample.GPUs {
			if g.Lost {
				e.because("GPU %d was lost to the driver", g.Index)
				signs++
			}
		}
	}
	return signs
}
