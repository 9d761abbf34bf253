package summary

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
)

// tierPage is a page with an engine whose tier is on the drives, and counters of drives in pairs of name and bytes.
func tierPage(recorded string, drives []string, counters ...string) string {
	page := kvMode(metric.ModeLive) + line(metric.ProcessIOBytesTotal, "0", "pid", "7", "comm", "engine", "cgroup", "/e", "op", "write") +
		line(metric.RecorderWrittenBytesTotal, recorded)
	for _, drive := range drives {
		page += line(metric.KVBMDiskFileInfo, "1", "pid", "7", "comm", "engine", "cgroup", "/e", "path", "/kv", "device", drive)
	}
	for i := 0; i < len(counters); i += 2 {
		family := metric.DiskWrittenBytesTotal.Def().Name
		if strings.HasPrefix(counters[i], "nvme") {
			family = metric.NVMeWrittenBytesTotal.Def().Name
		}
		page += "# TYPE " + family + " counter\n" + family + `{device="` + counters[i] + `"} ` + counters[i+1] + "\n"
	}
	return page
}

func TestTheDriveThatHoldsTheTierIsTheOneThatCounts(t *testing.T) {
	for name, c := range map[string]struct {
		tier     []string // by the exporter
		at       place
		bytes    float64
		unplaced bool
		missing  string
	}{
		"virtio":                      {[]string{"vda"}, place{}, 500, false, ""},
		"NVMe":                        {[]string{"nvme0n1"}, place{}, 90, false, ""},
		"striped over two":            {[]string{"nvme0n1", "vda"}, place{}, 590, false, ""},
		"by the load generator":       {nil, place{host: "spark", tier: &rundir.Storage{Drives: []rundir.Drive{{Device: "vda"}}}}, 500, false, ""},
		"of another machine":          {nil, place{host: "other", tier: &rundir.Storage{Drives: []rundir.Drive{{Device: "vda"}}}}, 590, true, "device_of_tier"},
		"not known":                   {nil, place{}, 590, true, "device_of_tier"},
		"without counters":            {[]string{"mmcblk0"}, place{}, 0, false, "device"},
		"on no drive":                 {nil, place{host: "spark", tier: &rundir.Storage{Path: "/kv", FileSystem: "nfs4"}}, 0, false, "device"},
		"could not be looked up":      {nil, place{host: "spark", tier: &rundir.Storage{Missing: "permission denied"}}, 590, true, "device_of_tier"},
		"the exporter is asked first": {[]string{"vda"}, place{host: "spark", tier: &rundir.Storage{Path: "/kv", FileSystem: "overlay"}}, 500, false, ""},
	} {
		log := turned(t, [2]string{tierPage("0", c.tier, "vda", "0", "nvme0n1", "0"), tierPage("0", c.tier, "vda", "500", "nvme0n1", "90")}, [2]string{})
		d := counters{log, false, []string{"spark"}}.diskAt([]string{"a"}, metric.OpWrite, c.at)
		if d.Device.Value != c.bytes || d.Device.Known != (c.bytes > 0) || d.Unplaced != c.unplaced {
			t.Errorf("%s: %+v", name, d)
		}
		named := ""
		for _, m := range d.Missing {
			if strings.HasPrefix(m.Name, "device") {
				named = m.Name
			}
		}
		if named != c.missing {
			t.Errorf("%s: %+v, want %q to be missing", name, d.Missing, c.missing)
		}
	}
}

func TestOwnBytesAreSubtractedFromACounterThatHasThem(t *testing.T) {
	one, two := []string{"vda", "0"}, []string{"vda", "0", "nvme0n1", "0"}
	for name, c := range map[string]struct {
		tier     []string
		run      []string
		counters []string
		own      float64
	}{
		"run folder and tier on one drive":      {[]string{"vda"}, []string{"vda"}, one, 70 + 8},
		"the run folder is elsewhere":           {[]string{"vda"}, []string{"nvme0n1"}, two, 0},
		"the recorder may write elsewhere":      {[]string{"vda"}, []string{"vda"}, two, 70},
		"the run folder is in memory":           {[]string{"vda"}, nil, one, 8},
		"all drives are compared":               {nil, []string{"nvme0n1"}, two, 70 + 8},
		"the run's drive has no counter at all": {nil, []string{"sda"}, two, 8},
		"the tier's drive has no counter":       {[]string{"mmcblk0"}, []string{"vda"}, two, 0},
	} {
		log := turned(t, [2]string{tierPage("0", c.tier, c.counters...), tierPage("8", c.tier, c.counters...)}, [2]string{})
		at, w := place{host: "spark", run: c.run, runBytes: 70}, counters{log, false, []string{"spark"}}
		if d := w.diskAt([]string{"a"}, metric.OpWrite, at); d.Own != c.own {
			t.Errorf("%s: %v, want %v", name, d.Own, c.own)
		}
		if d := w.diskAt([]string{"a"}, metric.OpRead, at); d.Own != 0 {
			t.Errorf("%s: %v of reads", name, d.Own)
		}
	}
}

func TestTheClosestCgroupWithCountersStandsForOneWithout(t *testing.T) {
	page := func(bytes string) string {
		text := kvMode(metric.ModeLive)
		for pid, group := range map[string]string{"7": "/a/b/engine", "8": "/a/b/worker"} {
			text += line(metric.ProcessIOBytesTotal, "0", "pid", pid, "comm", "c", "cgroup", group, "op", "read")
		}
		for _, group := range []string{"/a", "/a/b", "/other"} {
			text += line(metric.CgroupIOBytesTotal, bytes, "cgroup", group, "device", "vda", "op", "read")
		}
		return text
	}
	log := turned(t, [2]string{page("0"), page("40")}, [2]string{})
	d := counters{log, false, []string{"spark"}}.disk([]string{"a"}, metric.OpRead)
	if d.Cgroup.Known || d.ParentCgroup.Value != 40 || !d.ParentCgroup.Known {
		t.Errorf("%+v", d)
	}
	for _, groups := range [][]string{nil, {""}, {"/x/y"}, {"/a/b/engine", "/a/c"}} {
		if got := parentCgroup(log.Source("spark"), groups); got != "" {
			t.Errorf("%q: %s", groups, got)
		}
	}
}

func TestTheDriveThatTheEnginesCgroupUsesMostHoldsTheTier(t *testing.T) {
	page := func(dm, vda, sda, nvme string) string {
		text := kvMode(metric.ModeLive) + line(metric.ProcessIOBytesTotal, "0", "pid", "7", "comm", "c", "cgroup", "/e", "op", "read")
		for device, bytes := range map[string]string{"dm-0": dm, "vda": vda, "sda": sda} {
			text += line(metric.CgroupIOBytesTotal, bytes, "cgroup", "/e", "device", device, "op", "read")
		}
		return text + line(metric.DiskReadBytesTotal, vda, "device", "vda") + line(metric.NVMeReadBytesTotal, nvme, "device", "nvme0n1")
	}
	for name, c := range map[string]struct {
		dm, vda, sda string
		device       float64
		unplaced     bool
	}{
		"a drive":                    {"0", "500", "3", 500, false},
		"a drive below a device":     {"505", "500", "0", 500, false},
		"most is on one not counted": {"0", "5", "500", 95, true},
		"most is on a mapped one":    {"500", "5", "0", 95, true},
		"the engine moved no byte":   {"0", "0", "0", 90, true},
	} {
		log := turned(t, [2]string{page("0", "0", "0", "0"), page(c.dm, c.vda, c.sda, "90")}, [2]string{})
		if d := (counters{log, false, []string{"spark"}}).disk([]string{"a"}, metric.OpRead); d.Device.Value != c.device || d.Unplaced != c.unplaced {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
