package evidence

// Count is the growth of a counter. The zero value is a counter that was not seen.
type Count struct {
	Value float64
	Known bool
	// Reset is true if the counter fell meanwhile, so that Value is too low by an unknown amount.
	Reset bool
}

// Add adds another count; the sum is known only if both are.
func (c Count) Add(other Count) Count {
	return Count{c.Value + other.Value, c.Known && other.Known, c.Reset || other.Reset}
}

// Tiers are the tiers that were on, as far as known.
type Tiers struct {
	// HostOff and DiskOff are true if there is a sign that the tier was off.
	HostOff, DiskOff bool
	DiskFilter       Filter
}

// Filter is the state of KVBM's disk offload filter, which sends blocks to the disk only when they were used twice. It
// is on unless DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER is set; no metrics page of KVBM reports it.
type Filter string

// The states; FilterUnknown applies where no source shows it.
const (
	FilterUnknown Filter = ""
	FilterOn      Filter = "on"
	FilterOff     Filter = "off"
)

// Moved has the growth of KVBM's counters in a part of a run.
type Moved struct {
	// Seen is true if the KVBM page had counters at both ends; Gone is true if it answered at the first end only.
	Seen, Gone bool
	// FromDisk are blocks read from the disk: onboards from disk to device, or in version 2 to the host. FromHost are
	// those from host to device that do not come from the disk in the same step. ToDisk are offloads from host or device
	// to the disk.
	FromDisk, FromHost, ToDisk Count
	// ToHost are offloads from device to host.
	ToHost Count
	// MatchedTokens are prompt tokens found below the device.
	MatchedTokens Count
	// BlockBytes is the size of a block; 0 if unknown.
	BlockBytes float64
}

// Filter returns the state of the disk filter as the counters show it. Without a filter KVBM writes every block of the
// host through to the disk. So blocks that reach the host, but never a disk tier that is there, are consistent with a
// filter only. A write shows nothing: the filter lets blocks pass that are used again.
func (kv Moved) Filter(disk bool) Filter {
	if disk && kv.Seen && kv.ToHost.Known && !kv.ToHost.Reset && kv.ToHost.Value > 0 && kv.ToDisk.Known && !kv.ToDisk.Reset && kv.ToDisk.Value == 0 {
		return FilterOn
	}
	return FilterUnknown
}

// Disk has the bytes that the machine counted in the same part of a run, reads and writes separately, by the source of
// the count.
type Disk struct {
	// Process are the bytes that the engine's processes had the storage layer move, Cgroup those of their cgroup, Device
	// those of the drives for all processes. Denied is true if some processes could not be read.
	Process, Cgroup, Device Count
	Denied                  bool
	// Own are the bytes of the load generator and of the exporter's recorder on that drive, which are subtracted.
	Own float64
}

// Replay has the conditions of a part of a run that sent earlier prompts again, apart from the counters.
type Replay struct {
	// Pressed is true if the traffic in between was enough to push the blocks out of the tiers above the disk.
	Pressed bool
	// Cached is true if the answers report the prompts as cached, in any tier.
	Cached bool
}

// Tolerances between bytes and blocks x bytes per block. Processes read in whole blocks but also other files; the drive
// serves all processes, so that only too few bytes contradict.
const (
	leastShare  = 0.7
	mostShare   = 1.5
	deviceShare = 0.95
)

// SSDRehydrate grades whether KV blocks came back from the SSD in a replay. Onboards from host to device prove no read
// of the SSD; only onboards from the disk do, and only if process or cgroup, and the drive, read as many bytes. Without
// KVBM the engine's own count of tokens from its disk tier replaces the onboards.
func SSDRehydrate(kv Moved, hits Hits, read Disk, tiers Tiers, replay Replay) Signal {
	if kv.absent() && hits.Disk.Known {
		return hits.fromDisk(read, tiers, replay)
	}
	if reason := kv.blind(tiers, kv.FromDisk); reason != "" {
		return Unseen(reason)
	}
	if kv.FromDisk.Value == 0 {
		return NewSignal(Contradicted, kv.whyNone(tiers, replay), kv.blockFigures("kvbm_blocks_from_disk", kv.FromDisk)...)
	}
	return kv.graded("kvbm_blocks_from_disk", kv.FromDisk, kv.blockFigures("kvbm_blocks_from_disk", kv.FromDisk), "read", read)
}

// SSDOffload grades whether KV blocks were written to the SSD.
func SSDOffload(kv Moved, written Disk, tiers Tiers) Signal {
	if reason := kv.blind(tiers, kv.ToDisk); reason != "" {
		return Unseen(reason)
	}
	if kv.ToDisk.Value == 0 {
		reason := PressureTooSmall
		switch {
		case tiers.DiskOff:
			reason = TierOff
		case tiers.DiskFilter == FilterOn:
			reason = DiskFilterOn
		}
		return NewSignal(Contradicted, reason, NewFigure("kvbm_blocks_to_disk", 0, "blocks", atLeast(1)))
	}
	blocks := []Figure{NewFigure("kvbm_blocks_to_disk", kv.ToDisk.Value, "blocks", atLeast(1))}
	return kv.graded("kvbm_blocks_to_disk", kv.ToDisk, blocks, "written", written)
}

// blind returns the reason why a counter of KVBM shows nothing; empty if it can be used.
func (kv Moved) blind(tiers Tiers, counter Count) Reason {
	switch {
	case counter.Reset:
		return CountersReset
	case kv.Gone:
		return EndpointGone
	case kv.Seen && counter.Known:
		return ""
	case tiers.DiskOff:
		return TierOff
	}
	return CountersAbsent
}

// absent reports whether no KVBM page was seen.
func (kv Moved) absent() bool { return !kv.Seen && !kv.Gone && !kv.FromDisk.Reset }

// whyNone returns the reason why no block came from the disk. Tokens that were matched below the device, and not read
// from the disk, were in the host tier, even where KVBM counts no onboards from there (ai-dynamo/dynamo#4549). Tokens
// that the answers report as cached, and KVBM did not match, were on the device.
func (kv Moved) whyNone(tiers Tiers, replay Replay) Reason {
	switch {
	case tiers.DiskOff:
		return TierOff
	case kv.FromHost.Known && kv.FromHost.Value > 0, kv.MatchedTokens.Known && kv.MatchedTokens.Value > 0:
		return ServedFromHost
	case !replay.Pressed:
		return PressureTooSmall
	case replay.Cached:
		return ServedFromDevice
	case !kv.MatchedTokens.Known:
		return CountersAbsent
	case tiers.DiskFilter == FilterOn:
		return DiskFilterOn
	}
	return NoMatchedTokens
}

// blockFigures returns the counts of blocks and of matched tokens.
func (kv Moved) blockFigures(name string, blocks Count) []Figure {
	all := []Figure{NewFigure(name, blocks.Value, "blocks", atLeast(1))}
	if kv.FromHost.Known {
		// Blocks from the host are no evidence of a disk read, whatever their number.
		all = append(all, NewFigure("kvbm_blocks_from_host", kv.FromHost.Value, "blocks", atLeast(0)))
	}
	if kv.MatchedTokens.Known {
		all = append(all, NewFigure("kvbm_matched_tokens", kv.MatchedTokens.Value, "tokens", atLeast(1)))
	}
	return all
}

// graded compares blocks with bytes.
func (kv Moved) graded(name string, blocks Count, figures []Figure, did string, disk Disk) Signal {
	if kv.BlockBytes <= 0 {
		return NewSignal(Consistent, CountersAbsent, figures...)
	}
	return gradeBytes(name, blocks.Value*kv.BlockBytes, kv.BlockBytes, figures, did, disk)
}

// gradeBytes compares the bytes by a counter of the KV cache with those of processes and drives; least is the lower
// limit of the bytes.
func gradeBytes(name string, bytes, least float64, figures []Figure, did string, disk Disk) Signal {
	figures = append(figures, NewFigure(name+"_bytes", bytes, "bytes", atLeast(least)))
	owner := disk.owners(did, bytes)
	drive := disk.drives(did, bytes)
	figures = append(figures, owner...)
	figures = append(figures, drive...)
	switch {
	case disk.reset():
		return NewSignal(NotObservable, CountersReset, figures...)
	case len(owner) > 0 && !anyAgrees(owner), len(drive) > 0 && !anyAgrees(drive):
		return NewSignal(Contradicted, BytesDisagree, figures...)
	case len(owner) > 0 && len(drive) > 0:
		return NewSignal(Proven, "", figures...)
	case len(owner) == 0 && disk.Denied:
		return NewSignal(Consistent, NoPrivilege, figures...)
	}
	return NewSignal(Consistent, CountersAbsent, figures...)
}

// owners returns the figures that attribute the bytes to the engine. One of them is enough: I/O of helper threads and
// through drivers is sometimes charged to the cgroup only. A counter that was reset is left out.
func (d Disk) owners(did string, bytes float64) []Figure {
	expected := Range{leastShare * bytes, mostShare * bytes}
	var all []Figure
	for _, of := range []struct {
		name  string
		count Count
	}{{"process_" + did, d.Process}, {"cgroup_" + did, d.Cgroup}} {
		if of.count.Known && !of.count.Reset {
			all = append(all, NewFigure(of.name, of.count.Value, "bytes", expected))
		}
	}
	return all
}

// drives returns the figure of the drive; none without its counter.
func (d Disk) drives(did string, bytes float64) []Figure {
	if !d.Device.Known {
		return nil
	}
	return []Figure{NewFigure("device_"+did, max(0, d.Device.Value-d.Own), "bytes", atLeast(deviceShare*bytes))}
}

// reset reports whether a counter that the verdict needs was reset: the drive's, or the process's or cgroup's if there
// is no other.
func (d Disk) reset() bool {
	intact := func(c Count) bool { return c.Known && !c.Reset }
	owned := intact(d.Process) || intact(d.Cgroup)
	return d.Device.Reset || !owned && (d.Process.Reset || d.Cgroup.Reset)
}

func anyAgrees(figures []Figure) bool {
	for _, w := range figures {
		if w.Agrees {
			return true
		}
	}
	return false
}
