package summary

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// place is where the disk tier and the run folder lie, as far as the load generator can see it on its own machine.
type place struct {
	// host is the machine that the fields below are about; empty if the load generator runs elsewhere.
	host string
	// tier is the storage of the disk tier; nil if unknown. run are the drives of the run folder, which got runBytes.
	tier     *rundir.Storage
	run      []string
	runBytes float64
}

func (r *EvidenceInput) place() place {
	if !r.Own || len(r.Hosts) == 0 {
		return place{}
	}
	p := place{host: r.Hosts[0], runBytes: r.ownBytes()}
	for i, s := range r.Storage {
		switch s.Of {
		case rundir.StorageOfRun:
			p.run = driveNames(s)
		case rundir.StorageOfKV:
			p.tier = &r.Storage[i]
		}
	}
	return p
}

func driveNames(s rundir.Storage) (names []string) {
	for _, d := range s.Drives {
		names = append(names, d.Device)
	}
	return names
}

// ownBytes returns the bytes that uma-load wrote into the run folder.
func (r *EvidenceInput) ownBytes() float64 {
	var bytes int64
	err := filepath.WalkDir(string(r.Folder), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		r.Log.Debug("the size of the run folder is not known", "why", printable(err))
	}
	return float64(bytes)
}

// disk is diskAt without knowledge of the load generator's own machine.
func (w counters) disk(phases []string, op string) evidence.Disk {
	return w.diskAt(phases, op, place{})
}

// diskAt returns the bytes that the machines read or wrote; the operation has the exporter's name. The first source that
// has any counts, unless an engine spans several machines: each has its part of every block, and only their sum is the
// whole.
func (w counters) diskAt(phases []string, op string, p place) evidence.Disk {
	var d evidence.Disk
	parts := w.parts()
	for i, source := range parts {
		if i == 0 {
			d = w.diskOf(source, phases, op, p)
			continue
		}
		more := w.diskOf(source, phases, op, p)
		d.Process, d.Cgroup, d.Device = d.Process.Add(more.Process), d.Cgroup.Add(more.Cgroup), d.Device.Add(more.Device)
		d.ParentCgroup = d.ParentCgroup.Add(more.ParentCgroup)
		d.Denied, d.Unplaced, d.Direct = d.Denied || more.Denied, d.Unplaced || more.Unplaced, d.Direct && more.Direct
		d.Own += more.Own
		d.Devices, d.Missing = append(d.Devices, more.Devices...), append(d.Missing, more.Missing...)
	}
	if len(parts) > 0 {
		return d
	}
	found := false
	for _, source := range w.sources() {
		if source.Foreign {
			continue
		}
		one := w.diskOf(source, phases, op, p)
		if one.Device.Known || one.Process.Known {
			return one
		}
		if !found {
			d, found = one, true
		}
	}
	if !found {
		d.Missing = []evidence.Missing{{Name: "kernel", Reason: "no exporter watches the engine's machine, so that no bytes of the kernel are known: run uma-exporter there and pass --telemetry NAME=URL"}}
	}
	return d
}

// diskOf returns the bytes of one machine, and the witnesses that it lacks.
func (w counters) diskOf(source *telemetry.SourceLog, phases []string, op string, p place) evidence.Disk {
	if source.Name != p.host {
		p = place{}
	}
	process, groups := w.processes(source, phases, op)
	drives, placed := tierDrives(source, p)
	d := evidence.Disk{Process: process, Unplaced: !placed, Direct: directIO(source)}
	d.Denied = len(source.Find(metric.ProcessIOBytesTotal)) == 0 && len(source.Find(metric.ProcessCPUSecondsTotal)) > 0
	miss := func(name, format string, values ...any) {
		d.Missing = append(d.Missing, evidence.Missing{Name: name, Reason: fmt.Sprintf(format, values...)})
	}
	switch {
	case process.Known && process.Reset:
		miss("process", "the I/O counters of the engine's processes were reset")
	case process.Known:
	case d.Denied:
		miss("process", "the exporter may not read /proc/PID/io of the engine's processes: run it as root or with CAP_SYS_PTRACE")
	case len(source.Find(metric.ProcessIOBytesTotal)) > 0:
		miss("process", "a process of the engine, or the exporter, did not last through the phases")
	default:
		miss("process", "the exporter at %s shows no process of an engine: run it on the engine's machine, as root", source.Name)
	}
	busiest := ""
	d.Cgroup, busiest = w.cgroups(source, phases, op, groups, drives)
	if !placed && busiest != "" {
		drives, d.Unplaced = []string{busiest}, false // what the engine moves most is its tier
	}
	if !d.Cgroup.Known {
		parent := parentCgroup(source, groups)
		if parent != "" {
			d.ParentCgroup, _ = w.cgroups(source, phases, op, []string{parent}, drives)
		}
		switch {
		case d.ParentCgroup.Known:
			miss("cgroup", "the engine's cgroup has no I/O counters of its own, %s above it has: enable the controller io there", parent)
		default:
			miss("cgroup", "no I/O counters of the engine's cgroup: they need cgroup v2 with the controller io")
		}
	}
	w.drive(source, phases, op, drives, p, &d, miss)
	return d
}

// drive adds the bytes of the tier's drives, or of all drives where those are not known.
func (w counters) drive(source *telemetry.SourceLog, phases []string, op string, drives []string, p place, d *evidence.Disk, miss func(name, format string, values ...any)) {
	device := func(s *telemetry.Series) string { return s.Labels[string(metric.LabelDevice)] }
	var counted []string
	families := driveFamilies(op)
	for _, family := range families {
		for _, s := range source.Find(family) {
			counted = append(counted, device(s))
		}
	}
	lacking := slices.DeleteFunc(slices.Clone(drives), func(name string) bool { return slices.Contains(counted, name) })
	switch {
	case !d.Unplaced && len(drives) == 0:
		miss("device", "the tier at %s is on %s, which is no drive of this machine: put it on a file system of a local drive", p.tier.Path, p.tier.FileSystem)
		return
	case len(lacking) > 0:
		miss("device", "the exporter has no counters of %s, which holds the tier: an older one counts NVMe drives only, so update it", strings.Join(lacking, ", "))
		return
	case len(counted) == 0:
		miss("device", "the exporter has counters of no drive: see whether it can read /proc/diskstats")
		return
	}
	if d.Devices = drives; d.Unplaced {
		d.Devices = counted
		why := "the exporter finds the tier's file among those that the engine has open, as root or with CAP_SYS_PTRACE"
		if p.tier != nil && p.tier.Missing != "" {
			why = p.tier.Missing
		}
		miss("device_of_tier", "the drive that holds the tier is not known, so that all drives together are compared: %s", why)
	}
	d.Device, _ = w.grown(source, phases, func(s *telemetry.Series) bool {
		return slices.ContainsFunc(families, func(f metric.Definer) bool { return s.Name == f.Def().Name }) && slices.Contains(d.Devices, device(s))
	})
	if !d.Device.Known {
		miss("device", "the counters of %s do not cover the phases", strings.Join(d.Devices, ", "))
	}
	if op != metric.OpWrite {
		return
	}
	// A byte is subtracted only from a counter that has it.
	within := func(names []string) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(d.Devices, name) })
	}
	if within(counted) {
		recorded, _ := w.grown(source, phases, labelled(metric.RecorderWrittenBytesTotal))
		d.Own += recorded.Value
	}
	if within(p.run) {
		d.Own += p.runBytes
	}
}

// driveFamilies are the counters of whole drives.
func driveFamilies(op string) []metric.Definer {
	if op == metric.OpWrite {
		return []metric.Definer{metric.NVMeWrittenBytesTotal, metric.DiskWrittenBytesTotal}
	}
	return []metric.Definer{metric.NVMeReadBytesTotal, metric.DiskReadBytesTotal}
}

// tierDrives returns the drives that hold the disk tier, by the exporter or by the load generator on its own machine;
// placed is false if they are not known. A tier in memory or on a network has none.
func tierDrives(source *telemetry.SourceLog, p place) (drives []string, placed bool) {
	for _, s := range source.Find(metric.KVBMDiskFileInfo) {
		if name := s.Labels[string(metric.LabelDevice)]; !slices.Contains(drives, name) {
			drives = append(drives, name)
		}
	}
	switch {
	case len(drives) > 0:
		slices.Sort(drives)
		return drives, true
	case p.tier != nil && p.tier.Missing == "":
		return driveNames(*p.tier), true
	}
	return nil, false
}

// directIO reports whether all files of the disk tier are known to bypass the page cache.
func directIO(source *telemetry.SourceLog) bool {
	files := source.Find(metric.KVBMDiskFileDirectIO)
	return len(files) > 0 && !slices.ContainsFunc(files, func(s *telemetry.Series) bool { return highest(s) == 0 })
}

// counts reports whether the source has a counter of the drive.
func counts(source *telemetry.SourceLog, op, drive string) bool {
	return slices.ContainsFunc(driveFamilies(op), func(family metric.Definer) bool {
		return slices.Contains(labelValues(source.Find(family), metric.LabelDevice), drive)
	})
}

// nearlyAll is the part of a cgroup's I/O that makes a drive the one below a mapped device: metadata differ.
const nearlyAll = 0.9

// cgroups returns the I/O of these cgroups on the drives. If those are not known, it is the device with most: a device on
// top of a drive may count the same I/O again. Busiest is the drive with counters that has nearly as much.
func (w counters) cgroups(source *telemetry.SourceLog, phases []string, op string, groups, drives []string) (most evidence.Count, busiest string) {
	count := func(devices ...string) evidence.Count {
		of := labelled(metric.CgroupIOBytesTotal, string(metric.LabelOp), op)
		count, _ := w.grown(source, phases, func(s *telemetry.Series) bool {
			return of(s) && slices.Contains(groups, s.Labels[string(metric.LabelCgroup)]) && slices.Contains(devices, s.Labels[string(metric.LabelDevice)])
		})
		return count
	}
	if len(drives) > 0 {
		return count(drives...), ""
	}
	largest := 0.0
	for _, device := range labelValues(source.Find(metric.CgroupIOBytesTotal), metric.LabelDevice) {
		c := count(device)
		if c.Known && (!most.Known || c.Value > most.Value) {
			most = c
		}
		if c.Known && c.Value > largest && counts(source, op, device) {
			busiest, largest = device, c.Value
		}
	}
	if largest < nearlyAll*most.Value {
		return most, ""
	}
	return most, busiest
}

// parentCgroup returns the closest cgroup with I/O counters above all of the groups; empty if there is none.
func parentCgroup(source *telemetry.SourceLog, groups []string) string {
	counted := labelValues(source.Find(metric.CgroupIOBytesTotal), metric.LabelCgroup)
	common := ""
	for _, group := range groups {
		above := group
		for above != "" && above != "/" && above != "." {
			if above = path.Dir(above); slices.Contains(counted, above) {
				break
			}
		}
		if !slices.Contains(counted, above) || common != "" && common != above {
			return ""
		}
		common = above
	}
	return common
}

// labelValues returns the values of a label.
func labelValues(series []*telemetry.Series, label metric.Label) []string {
	var values []string
	for _, s := range series {
		if value := s.Labels[string(label)]; !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}
