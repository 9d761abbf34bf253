package summary

import (
	"reflect"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
)

// half is what a machine of two says: its part of what was read from its own drive, and maybe a page of KVBM.
func half(process, device, blocks, source string) string {
	page := kvMode(metric.ModeLive) +
		line(metric.ProcessIOBytesTotal, process, "pid", "7", "comm", "engine", "cgroup", "/e", "op", "read") +
		line(metric.CgroupIOBytesTotal, process, "cgroup", "/e", "device", "nvme0n1", "op", "read") +
		line(metric.NVMeReadBytesTotal, device, "device", "nvme0n1")
	if blocks != "" {
		page += line(metric.KVBMBlocksTotal, blocks, "source", source, "op", "onboard", "from", "disk", "to", "device") +
			line(metric.KVBMBytesTotal, blocks+"00", "source", source, "op", "onboard", "from", "disk", "to", "device")
	}
	return page
}

// An engine over two machines has half of every block on either drive: one drive alone would be called too little.
func TestReadsOfAnEngineOnTwoMachinesAreThoseOfBothDrives(t *testing.T) {
	log := turnedPages(t, map[string][2]string{
		"spark-1": {half("0", "0", "10", "127.0.0.1:6880/metrics"), half("1000", "1100", "30", "127.0.0.1:6880/metrics")},
		"spark-2": {half("0", "50", "", ""), half("990", "1050", "", "")},
		"client":  {kvMode(metric.ModeLive) + line(metric.NVMeReadBytesTotal, "0", "device", "sda"), kvMode(metric.ModeLive) + line(metric.NVMeReadBytesTotal, "9999", "device", "sda")},
	}, [2]string{})
	of := func(hosts ...string) counters { return counters{log, false, hosts} }
	both := of("spark-1", "spark-2").disk([]string{"a"}, metric.OpRead)
	if both.Process.Value != 1990 || both.Cgroup.Value != 1990 || both.Device.Value != 2100 || !both.Process.Known || !both.Device.Known {
		t.Errorf("both %+v", both)
	}
	if named := of("spark-1", "spark-2", "client").disk([]string{"a"}, metric.OpRead); !reflect.DeepEqual(named, both) {
		t.Errorf("a machine without any process of the engine has a part: %+v", named)
	}
	if one := of("spark-1").disk([]string{"a"}, metric.OpRead); one.Process.Value != 1000 || one.Device.Value != 1100 {
		t.Errorf("one %+v", one)
	}
	moved := of("spark-1", "spark-2").moved([]string{"a"})
	if !moved.Seen || moved.FromDisk.Value != 20 || moved.BlockBytes != 100 {
		t.Fatalf("moved %+v", moved)
	}
	if got := evidence.SSDRehydrate(moved, evidence.Hits{}, both, evidence.Tiers{}, evidence.Replay{Pressed: true}); got.Grade != evidence.Proven {
		t.Errorf("%+v", got)
	}
	half := of("spark-1")
	if got := evidence.SSDRehydrate(half.moved([]string{"a"}), evidence.Hits{}, half.disk([]string{"a"}, metric.OpRead), evidence.Tiers{}, evidence.Replay{Pressed: true}); got.Grade != evidence.Contradicted {
		t.Errorf("half of the bytes prove the whole: %+v", got)
	}
}

// What the flight recorder wrote to a drive is no block that an engine offloaded.
func TestWritesOfTheRecorderAreSubtractedFromThoseOfTheDrive(t *testing.T) {
	page := func(device, recorded string) string {
		return kvMode(metric.ModeLive) + line(metric.ProcessIOBytesTotal, "0", "pid", "7", "comm", "engine", "cgroup", "/e", "op", "write") +
			line(metric.NVMeWrittenBytesTotal, device, "device", "nvme0n1") + line(metric.NVMeReadBytesTotal, device, "device", "nvme0n1") +
			line(metric.RecorderWrittenBytesTotal, recorded)
	}
	log := turnedPages(t, map[string][2]string{"spark-1": {page("0", "4096"), page("90000", "86016")}, "spark-2": {page("0", "0"), page("9000", "8192")}}, [2]string{})
	for _, of := range []struct {
		hosts []string
		own   float64
	}{{[]string{"spark-1"}, 81920}, {[]string{"spark-1", "spark-2"}, 90112}} {
		w := counters{log, false, of.hosts}
		if d := w.disk([]string{"a"}, metric.OpWrite); d.Own != of.own {
			t.Errorf("%v: %+v, want %v of the recorder", of.hosts, d, of.own)
		}
		if d := w.disk([]string{"a"}, metric.OpRead); d.Own != 0 {
			t.Errorf("%v: reads: %+v", of.hosts, d)
		}
	}
}

// What one machine did not tell is not made up for by the other.
func TestHalfOfTheReadsProvesNothing(t *testing.T) {
	whole := [2]string{half("0", "0", "10", "127.0.0.1:6880/metrics"), half("2000", "2200", "30", "127.0.0.1:6880/metrics")}
	blind := kvMode(metric.ModeLive) + line(metric.ProcessCPUSecondsTotal, "1", "pid", "7", "comm", "engine", "cgroup", "/e") + line(metric.NVMeReadBytesTotal, "1", "device", "nvme0n1")
	for name, second := range map[string][2]string{
		"may not look":  {blind, blind},
		"lost half way": {half("0", "0", "", ""), ""},
	} {
		log := turnedPages(t, map[string][2]string{"spark-1": whole, "spark-2": second}, [2]string{})
		w := counters{log, false, []string{"spark-1", "spark-2"}}
		d := w.disk([]string{"a"}, metric.OpRead)
		if d.Process.Known || d.Denied != (name == "may not look") {
			t.Errorf("%s: %+v", name, d)
		}
		if got := evidence.SSDRehydrate(w.moved([]string{"a"}), evidence.Hits{}, d, evidence.Tiers{}, evidence.Replay{Pressed: true}); got.Grade != evidence.Consistent {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// One machine under two names has one drive, and one page on its own address.
func TestReadsOfAMachineUnderTwoNamesCountOnce(t *testing.T) {
	gpu := line(metric.GPUInfo, "1", "uuid", "GPU-1")
	same := [2]string{gpu + half("0", "0", "10", "127.0.0.1:6880/metrics"), gpu + half("1000", "1100", "30", "127.0.0.1:6880/metrics")}
	log := turnedPages(t, map[string][2]string{"spark-1": same, "again": same}, [2]string{})
	w := counters{log, false, []string{"spark-1", "again"}}
	if d := w.disk([]string{"a"}, metric.OpRead); d.Process.Value != 1000 || d.Device.Value != 1100 {
		t.Errorf("%+v", d)
	}
	if m := w.moved([]string{"a"}); m.FromDisk.Value != 20 {
		t.Errorf("%+v", m)
	}
}

func TestBlocksOfPagesOfTheirOwnAddUpAndThoseOfOneDoNot(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string
		want          float64
	}{
		"each its own":         {"127.0.0.1:6880/metrics", "127.0.0.1:6880/metrics", 50},
		"each its own, IPv6":   {"[::1]:6880/metrics", "[::1]:6880/metrics", 50},
		"one page of the head": {"10.0.0.1:6880/metrics", "10.0.0.1:6880/metrics", 20},
	} {
		log := turnedPages(t, map[string][2]string{
			"spark-1": {half("0", "0", "10", c.first), half("1", "1", "30", c.first)},
			"spark-2": {half("0", "0", "10", c.second), half("1", "1", "40", c.second)},
		}, [2]string{})
		if got := (counters{log, false, []string{"spark-1", "spark-2"}}).moved([]string{"a"}); got.FromDisk.Value != c.want || !got.Seen || got.BlockBytes != 100 {
			t.Errorf("%s: %+v, want %v", name, got, c.want)
		}
	}
	other := strings.ReplaceAll(half("1", "1", "40", "127.0.0.1:6880/metrics"), "4000", "8000")
	log := turnedPages(t, map[string][2]string{
		"spark-1": {half("0", "0", "10", "127.0.0.1:6880/metrics"), half("1", "1", "30", "127.0.0.1:6880/metrics")}, "spark-2": {other, other},
	}, [2]string{})
	if got := (counters{log, false, []string{"spark-1", "spark-2"}}).moved([]string{"a"}); got.BlockBytes != 0 {
		t.Errorf("blocks of two sizes have one: %+v", got)
	}
}
