package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLinesOfTheDriverHaveTheirKind(t *testing.T) {
	for text, want := range map[string]DriverLine{
		"4,1187,5140900,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python, GPU has fallen off the bus.\n SUBSYSTEM=pci\n": {DriverXID, 79},
		"4,1,5,-;NVRM: Xid (0000:03:00): 31, Ch 00000010\n":                                                                     {DriverXID, 31},
		"6,1,5,-;NVRM: Xid (PCI:000f:01:00): 119, Timeout waiting for RPC from GSP\n":                                           {DriverXID, 119},
		"4,2,6,-;NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.\n":                                                         {Kind: DriverFellOffBus},
		"4,3,6,c;NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from x\n":     {Kind: DriverOutOfMemory},
		"3,4,6,-;NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x25:0xffff:1482)\n":                                            {Kind: DriverInitFailed},
		"4,5,6,-;NVRM: nvAssertFailedNoLog: Assertion failed: 0 @ gpu.c:1\n":                                                    {Kind: DriverAssertion},
		"4,6,6,-;nvidia-uvm: something that nobody has seen\n":                                                                  {Kind: DriverOther},
	} {
		record, err := ParseKernelRecord(text)
		if line, is := record.DriverLine(); err != nil || !is || line != want {
			t.Errorf("%q: %+v, %v, %v", text, line, is, err)
		}
	}
	for what, text := range map[string]string{
		"a line of a program":      "12,7,5,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1",
		"another module":           "3,7,5,-;usb 1-1: out of memory",
		"no error":                 "6,7,5,-;nvidia: loading out-of-tree module taints kernel.",
		"a word that is no prefix": "4,7,5,-;audit: NVRM: Xid (PCI:0000:01:00): 79",
		"a dictionary":             "4,7,5,-;audit\n X=NVRM: Xid (PCI:0000:01:00): 79",
	} {
		record, err := ParseKernelRecord(text)
		if line, is := record.DriverLine(); err != nil || is {
			t.Errorf("%s is %+v, %v", what, line, err)
		}
	}
	for _, text := range []string{"", ";", "4;x", "x,1,2,-;y", "-1,1,2,-;y", "99999999999,1;y", "4,1,2,-", "4,1,x,-;y", "4,1,-2,-;y"} {
		if _, err := ParseKernelRecord(text); !errors.Is(err, errMalformed) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFailedAllocationsHaveTheirOrder(t *testing.T) {
	for text, want := range map[string]int{
		"4,1187,5140900,-;vllm: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null),cpuset=/,mems_allowed=0\n": 4,
		"4,1,5,-;kworker/u40:3: page allocation failure: order:0, mode:0x2204d(GFP_ATOMIC)":                                                                  0,
		"12,1,5,-;vllm: page allocation failure: order:4, mode:0x40dc0":                                                                                      -1,
		"4,1,5,-;vllm: page allocation failure: order:, mode:0x40dc0":                                                                                        -1,
		"4,1,5,-;Out of memory: Killed process 4711 (vllm)":                                                                                                  -1,
	} {
		record, err := ParseKernelRecord(text)
		order, is := record.FailedAllocation()
		if err != nil || is != (want >= 0) || is && order != uint64(want) {
			t.Errorf("%q: order %d, %v, %v", text, order, is, err)
		}
	}
}

func TestOOMKillsHaveTheirProcessAndReason(t *testing.T) {
	for text, want := range map[string]OOMKill{
		"3,9,71000123,-;Out of memory: Killed process 4711 (vllm) total-vm:8123456kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:96kB oom_score_adj:0": {4711, "vllm", false},
		"3,9,71000123,-;Memory cgroup out of memory: Killed process 12 (a (b) c) total-vm:1kB":                                                                        {12, "a (b) c", true},
		"3,9,71000123,-;Out of memory (oom_kill_allocating_task): Killed process 3 (x) total-vm:1kB":                                                                  {3, "x", false},
		"11,9,71000123,-;Out of memory: Killed process 4711 (vllm) total-vm:1kB":                                                                                      {},
		"3,9,71000123,-;Tasks in /x are going to be killed due to memory.oom.group set":                                                                               {},
		"3,9,71000123,-;Out of memory: Killed process x (vllm)":                                                                                                       {},
	} {
		record, err := ParseKernelRecord(text)
		kill, is := record.OOMKill()
		if err != nil || is != (want != OOMKill{}) || kill != want || record.Since != 71000123*time.Microsecond {
			t.Errorf("%q: %+v, %v, %v", text, kill, is, err)
		}
	}
}

// FuzzKernelRecord: whatever a record holds, its line has a kind that is listed, a code only if it is an XID, and comes
// from the kernel. So does a failed allocation.
func FuzzKernelRecord(f *testing.F) {
	for _, text := range []string{"4,1187,5140900,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1\n SUBSYSTEM=pci\n", "6,1,2,c;nvidia: x", ";", "4,;NVRM: Xid (): 99999999999999999999", "12,1,2,-;NVRM: ", "4,1,2,-;x: page allocation failure: order:9, mode",
		"3,1,99,-;Out of memory: Killed process 4711 (vllm) total-vm:1kB", "3,1,2,-;Memory cgroup out of memory: Killed process 1 ("} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		record, err := ParseKernelRecord(text)
		if err != nil {
			if record != (KernelRecord{}) {
				t.Errorf("%+v beside %v", record, err)
			}
			return
		}
		if record.Level < 0 || record.Level > 7 || record.Facility < 0 || strings.Contains(record.Message, "\n") {
			t.Errorf("%+v", record)
		}
		line, is := record.DriverLine()
		if is && (record.Facility != 0 || !slices.Contains(DriverKinds(), line.Kind) || line.XID > 0 && line.Kind != DriverXID) || !is && line != (DriverLine{}) {
			t.Errorf("%+v of %+v", line, record)
		}
		if order, failed := record.FailedAllocation(); failed && record.Facility != 0 || !failed && order != 0 || order > 255 {
			t.Errorf("order %d, %v of %+v", order, failed, record)
		}
		if kill, is := record.OOMKill(); is && (record.Facility != 0 || strings.Contains(kill.Comm, "\n")) || !is && kill != (OOMKill{}) {
			t.Errorf("%+v, %v of %+v", kill, is, record)
		}
		again := fmt.Sprintf("%d,1,%d,-;%s", record.Facility<<3|record.Level, record.Since.Microseconds(), record.Message)
		if same, err := ParseKernelRecord(again); err != nil || same != record {
			t.Errorf("%+v read again is %+v, %v", record, same, err)
		}
	})
}

// The log of the kernel that the test runs on is read from its present end on, without waiting. Where it cannot be read, the
// error names it. Nothing is written to the log of the machine.
func TestTheKernelLogOfThisMachineIsReadFromItsEnd(t *testing.T) {
	const many = 100 // more records than a kernel writes between two calls
	next, err := OpenKernelLog()
	if err != nil {
		if at, is := errors.AsType[*fs.PathError](err); !is || at.Path != "/dev/kmsg" {
			t.Error(err)
		}
		return
	}
	for read := 0; ; read++ {
		text, err := next()
		if errors.Is(err, ErrNoRecord) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseKernelRecord(text); err != nil {
			t.Error(err)
		}
		if read >= many {
			t.Fatalf("%d records since the log was opened: it is not read from its end", read)
		}
	}
}
