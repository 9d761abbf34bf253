package recorder

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func number(n uint64) *uint64 { return &n }

const began = 1_790_000_000_000 // wall clock in ms at which boot a began

// recorded is a session of boot a with PID 7 whose last record, at 100 s, is followed by what end adds.
func recorded(end ...Record) []Record {
	records := []Record{{Boot: "a", PID: 7, UnixMS: began + 10_000, MonotonicMS: 10_000, Start: &Start{}}}
	for s := int64(11); s <= 100; s++ {
		r := sampleOf("a", 7, began+s*1000, s*1000)
		r.Sample.OOM = OOM{Kills: number(2), GroupLimits: number(1), GroupKills: number(1)}
		r.Sample.KernelRead = true
		records = append(records, r)
	}
	records = append(records, end...)
	for i := range records {
		records[i].Sequence = uint64(i)
	}
	return records
}

func stopped(system string) Record {
	return Record{Boot: "a", PID: 7, UnixMS: began + 100_500, MonotonicMS: 100_500, Stop: &Stop{System: system}}
}

func with(change func(*Sample)) Record {
	r := sampleOf("a", 7, began+101_000, 101_000)
	r.Sample.KernelRead = true
	change(r.Sample)
	return r
}

// sameBoot is a start in boot a at 103 s, otherBoot one in boot b, which began so long after the last record.
func sameBoot(start Start) Record {
	return Record{Boot: "a", PID: 8, UnixMS: began + 103_000, MonotonicMS: 103_000, Start: &start}
}

func otherBoot(gap time.Duration) Record {
	return Record{Boot: "b", PID: 5, UnixMS: began + 100_500 + gap.Milliseconds() + 20_000, MonotonicMS: 20_000, Start: &Start{}}
}

func TestEndsAreToldFromRecordsAndNoMoreIsClaimed(t *testing.T) {
	kill := KernelLine{MonotonicMS: 101_000, Text: "Memory cgroup out of memory: Killed process 7 (uma-exporter) total-vm:1kB", Killed: 7, Cgroup: true}
	global := KernelLine{MonotonicMS: 101_000, Text: "Out of memory: Killed process 7 (uma-exporter) total-vm:1kB", Killed: 7}
	old := KernelLine{MonotonicMS: 5_000, Text: "Out of memory: Killed process 7 (other) total-vm:1kB", Killed: 7}
	xid := KernelLine{MonotonicMS: 99_500, Text: "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus", Driver: true}
	for name, of := range map[string]struct {
		records   []Record
		next      Record
		end       End
		certainty Certainty
		evidence  string
	}{
		"a shutdown":                  {recorded(stopped("stopping")), otherBoot(time.Hour), EndShutdown, Proven, `"stopping"`},
		"a shutdown without systemd":  {recorded(stopped("")), otherBoot(40 * time.Second), EndShutdown, Likely, "40s after"},
		"a stop, and power off later": {recorded(stopped("")), otherBoot(time.Hour), EndNotRecorded, NotRecorded, "1h0m0s after"},
		"a stop of the service":       {recorded(stopped("running")), otherBoot(20 * time.Second), EndNotRecorded, NotRecorded, `"running"`},
		"a restart of the service":    {recorded(stopped("running")), sameBoot(Start{}), EndStopped, Proven, "asked to stop"},
		"a stop and a clock set back": {recorded(stopped("")), otherBoot(-time.Hour), EndNotRecorded, NotRecorded, "set back"},
		"no stop":                     {recorded(), otherBoot(time.Minute), EndNoShutdown, Likely, "driver wrote no error"},
		"an error of the driver":      {recorded(with(func(s *Sample) { s.Kernel = []KernelLine{xid} })), otherBoot(time.Minute), EndDriverErrors, Likely, "1.5s before the last record the kernel wrote: NVRM: Xid"},
		"a lost GPU":                  {recorded(with(func(s *Sample) { s.GPUs = []GPU{{Lost: true}} })), otherBoot(time.Minute), EndDriverErrors, Likely, "GPU 0 was lost"},
		"an OOM kill of another": {recorded(with(func(s *Sample) {
			s.Kernel = []KernelLine{{MonotonicMS: 100_900, Text: "Out of memory: Killed process 9 (vllm)", Killed: 9}}
		})), otherBoot(0), EndNoShutdown, Likely, "100ms before the last record the kernel wrote: Out of memory"},
		"killed by a cgroup's limit": {recorded(), sameBoot(Start{KernelRead: true, Kernel: []KernelLine{old, kill}}), EndCgroupOOM, Proven, "Killed process 7"},
		"killed by the machine's":    {recorded(), sameBoot(Start{KernelRead: true, Kernel: []KernelLine{global}}), EndOOM, Proven, "Killed process 7"},
		"a PID of before":            {recorded(), sameBoot(Start{KernelRead: true, Kernel: []KernelLine{old}}), EndKilled, Likely, "names no killed process 7"},
		"SIGKILL":                    {recorded(), sameBoot(Start{OOM: OOM{Kills: number(2)}}), EndKilled, Likely, "killed no process"},
		"counts of a cgroup's limit": {recorded(), sameBoot(Start{OOM: OOM{number(3), number(2), number(2)}}), EndCgroupOOM, Likely, "1 of them in the cgroup"},
		"counts of the machine's":    {recorded(), sameBoot(Start{OOM: OOM{number(3), number(1), number(2)}}), EndOOM, Likely, "reached 0 times"},
		"counts of another cgroup":   {recorded(), sameBoot(Start{OOM: OOM{number(3), number(1), number(1)}}), EndKilled, Likely, "none of them"},
		"a kill, but whose":          {recorded(), sameBoot(Start{OOM: OOM{Kills: number(3)}}), EndNotRecorded, NotRecorded, "not read"},
		"nothing counted":            {recorded(), sameBoot(Start{}), EndNotRecorded, NotRecorded, "not read"},
		"a count that was reset":     {recorded(), sameBoot(Start{OOM: OOM{Kills: number(1)}}), EndNotRecorded, NotRecorded, "not read"},
	} {
		report, err := Judge(Contents{Records: of.records}, of.next, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var ending Ending
		switch {
		case of.next.Boot == "a" && len(report.Here) == 1 && report.Boot == nil:
			ending = report.Here[0]
		case of.next.Boot == "b" && report.Boot != nil && len(report.Here) == 0:
			ending = *report.Boot
			if n := len(ending.Records); n < 61 || n > 62 || ending.Records[n-1].Sequence != uint64(len(of.records)-1) {
				t.Errorf("%s: %d records of the last minute", name, n)
			}
		default:
			t.Errorf("%s: %+v", name, report)
			continue
		}
		if ending.End != of.end || ending.Certainty != of.certainty || !strings.Contains(strings.Join(ending.Evidence, "\n"), of.evidence) || ending.Summary == "" {
			t.Errorf("%s: %s, %s; want %s, %s with %q:\n%s", name, ending.End, ending.Certainty, of.end, of.certainty, of.evidence, strings.Join(ending.Evidence, "\n"))
		}
	}
}

func TestTheEndOfABootIsThatOfItsLastRecorder(t *testing.T) {
	records := recorded() // killed, then started again in boot a, then no stop; then boot b has a stop and a start
	records = append(records, sameBoot(Start{OOM: OOM{Kills: number(2)}}), Record{Boot: "a", PID: 8, UnixMS: began + 104_000, MonotonicMS: 104_000, Sample: &Sample{}})
	first := otherBoot(time.Minute)
	records = append(records, first, Record{Boot: "b", PID: 5, UnixMS: first.UnixMS + 1000, MonotonicMS: 21_000, Stop: &Stop{System: "running"}})
	now := Record{Boot: "b", PID: 6, UnixMS: first.UnixMS + 5000, MonotonicMS: 25_000, Start: &Start{}}
	for i := range records {
		records[i].Sequence = uint64(i)
	}
	report, err := Judge(Contents{Records: records, Damaged: 2}, now, false)
	if err != nil || report.Boot == nil || report.Boot.End != EndNoShutdown || report.Boot.PID != 8 || len(report.Here) != 1 || report.Here[0].End != EndStopped {
		t.Fatalf("%+v, %v", report, err)
	}
	if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "2 records are damaged") {
		t.Errorf("%q", report.Notes)
	}
	running, err := Judge(Contents{Records: records[:len(records)-1]}, now, true)
	if err != nil || running.Boot == nil || running.Boot.End != EndNoShutdown || len(running.Here) != 0 {
		t.Errorf("beside the running recorder: %+v, %v", running, err)
	}
	alone, err := Judge(Contents{Records: records[len(records)-2:]}, now, false)
	if err != nil || alone.Boot != nil || len(alone.Here) != 1 {
		t.Errorf("without an earlier boot: %+v, %v", alone, err)
	}
}

func TestRecordsOfAnotherMachineAreNoneOfThisOne(t *testing.T) {
	records := recorded()
	for i := range records {
		records[i].Machine = "theirs"
	}
	now := otherBoot(time.Minute)
	now.Machine = "ours"
	if _, err := Judge(Contents{Records: records}, now, false); !errors.Is(err, ErrOtherMachine) {
		t.Errorf("all of another: %v", err)
	}
	records[90].Machine = "ours"
	report, err := Judge(Contents{Records: records}, now, false)
	if err != nil || len(report.Boot.Records) != 1 || !strings.Contains(report.Notes[0], "90 records of another machine") {
		t.Errorf("some of another: %+v, %v", report, err)
	}
	if _, err := Judge(Contents{}, now, false); !errors.Is(err, ErrNoRecord) {
		t.Errorf("none: %v", err)
	}
}

func TestAClockThatWasSetBackIsNotedAndTheOrderKept(t *testing.T) {
	records := recorded()
	for i := 50; i < len(records); i++ {
		records[i].UnixMS -= 3_600_000
	}
	report, err := Judge(Contents{Records: records}, otherBoot(time.Minute), false)
	if err != nil || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "set back by 1h0m0s") || len(report.Boot.Records) != 61 {
		t.Errorf("%q, %v", report.Notes, err)
	}
	report, err = Judge(Contents{Records: recorded()}, otherBoot(-2*time.Hour), false)
	if err != nil || len(report.Notes) != 1 || report.Boot.End != EndNoShutdown || !strings.Contains(report.Boot.Evidence[0], "set back") {
		t.Errorf("between boots: %+v, %v", report, err)
	}
}
