package evidence

// Count is how much a counter grew. The zero value is one that was not seen.
type Count struct {
	Value float64
	Known bool
	// Reset: it fell on the way, so that Value is too low by an unknown amount.
	Reset bool
}

// Add adds another count; of two that are not both known nothing is.
func (c Count) Add(other Count) Count {
	return Count{c.Value + other.Value, c.Known && other.Known, c.Reset || other.Reset}
}

// Tiers says which tiers were on, as far as it is known.
type Tiers struct {
	// HostOff and DiskOff: something says that the tier was off.
	HostOff, DiskOff bool
	DiskFilter       Filter
}

// Filter is the state of KVBM's disk offload filter, with which blocks go to the disk only when they were
// wanted twice. It is on unless DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER is set, and no page tells it.
type Filter string

// The states; FilterUnknown is where nobody said it.
const (
	FilterUnknown Filter = ""
	FilterOn      Filter = "on"
	FilterOff     Filter = "off"
)

// Moved is what KVBM's counters say of a stretch of a run.
type Moved struct {
	// Seen says whether its page had counters at both ends, Gone that it answered at the first only.
	Seen, Gone bool
	// FromDisk are blocks read from the disk: onboards from disk to device, or in version 2 to the host.
	// FromHost are those from host to device that do not come from the disk in the same step. ToDisk are
	// offloads from host or device to the disk.
	FromDisk, FromHost, ToDisk Count
	// MatchedTokens are prompt tokens found below the device.
	MatchedTokens Count
	// BlockBytes is the size of a block; 0 is not known.
	BlockBytes float64
}

// Disk is what the machine says of the same stretch, in bytes. Reads and writes are kept apart by who
// looks at it.
type Disk struct {
	// Process is what the engine's processes had the storage layer do, Cgroup what their cgroup did,
	// Device what the drives did for everybody. Denied: there are processes that may not be looked into.
	Process, Cgroup, Device Count
	Denied                  bool
	// Own is what the load generator itself did on that drive; it is taken off.
	Own float64
}

// Replay is what is known of a stretch in which earlier prompts were sent again, beside the counters.
type Replay struct {
	// Pressed says whether enough lay between to push the blocks out of the tiers above the disk.
	Pressed bool
	// Cached says that the answers call the prompts cached, on whatever tier.
	Cached bool
}

// How far bytes may be from blocks x bytes per block. Processes read in whole blocks but also other files;
// the drive serves everybody, so that only too little speaks against it.
const (
	leastShare  = 0.7
	mostShare   = 1.5
	deviceShare = 0.95
)

// SSDRehydrate grades whether KV blocks came back from the SSD in a replay. Host to device proves nothing of
// the SSD; only onboards from the disk do, and only if process or cgroup, and the drive, read as many bytes. Without
// KVBM the engine's own count of tokens from its disk tier takes the place of the onboards.
func SSDRehydrate(kv Moved, hits Hits, read Disk, tiers Tiers, replay Replay) Signal {
	if kv.absent() && hits.Disk.Known {
		return hits.fromDisk(read, tiers, replay)
	}
	if reason := kv.blind(tiers, kv.FromDisk); reason != "" {
		return Unseen(reason)
	}
	if kv.FromDisk.Value == 0 {
		return NewSignal(Contradicted, kv.whyNone(tiers, replay), kv.blocksWitnesses("kvbm_blocks_from_disk", kv.FromDisk)...)
	}
	return kv.graded("kvbm_blocks_from_disk", kv.FromDisk, kv.blocksWitnesses("kvbm_blocks_from_disk", kv.FromDisk), "read", read)
}

// SSDOffload says whether KV blocks were written to the SSD.
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
		return NewSignal(Contradicted, reason, NewWitness("kvbm_blocks_to_disk", 0, "blocks", atLeast(1)))
	}
	blocks := []Witness{NewWitness("kvbm_blocks_to_disk", kv.ToDisk.Value, "blocks", atLeast(1))}
	return kv.graded("kvbm_blocks_to_disk", kv.ToDisk, blocks, "written", written)
}

// blind is why nothing can be said by a counter of KVBM's; empty if something can.
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

// absent says whether no page of KVBM was seen.
func (kv Moved) absent() bool { return !kv.Seen && !kv.Gone && !kv.FromDisk.Reset }

// whyNone is why no block came from the disk. What was matched below the device, and not read from the
// disk, was in the host, also where KVBM counts no onboards from there (ai-dynamo/dynamo#4549). What the
// answers call cached, and KVBM did not match, was on the device.
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

// blocksWitnesses are the counts of blocks and of what was found.
func (kv Moved) blocksWitnesses(name string, blocks Count) []Witness {
	all := []Witness{NewWitness(name, blocks.Value, "blocks", atLeast(1))}
	if kv.FromHost.Known {
		// Blocks from the host are no evidence of the disk, whatever their number.
		all = append(all, NewWitness("kvbm_blocks_from_host", kv.FromHost.Value, "blocks", atLeast(0)))
	}
	if kv.MatchedTokens.Known {
		all = append(all, NewWitness("kvbm_matched_tokens", kv.MatchedTokens.Value, "tokens", atLeast(1)))
	}
	return all
}

// graded holds blocks against bytes.
func (kv Moved) graded(name string, blocks Count, witnesses []Witness, did string, disk Disk) Signal {
	if kv.BlockBytes <= 0 {
		return NewSignal(Consistent, CountersAbsent, witnesses...)
	}
	return gradeBytes(name, blocks.Value*kv.BlockBytes, kv.BlockBytes, witnesses, did, disk)
}

// gradeBytes holds the bytes by a counter of the KV cache, at least so many, against those of processes and drives.
func gradeBytes(name string, bytes, least float64, witnesses []Witness, did string, disk Disk) Signal {
	witnesses = append(witnesses, NewWitness(name+"_bytes", bytes, "bytes", atLeast(least)))
	owner := disk.owners(did, bytes)
	drive := disk.drives(did, bytes)
	witnesses = append(witnesses, owner...)
	witnesses = append(witnesses, drive...)
	switch {
	case disk.reset():
		return NewSignal(NotObservable, CountersReset, witnesses...)
	case len(owner) > 0 && !anyAgrees(owner), len(drive) > 0 && !anyAgrees(drive):
		return NewSignal(Contradicted, BytesDisagree, witnesses...)
	case len(owner) > 0 && len(drive) > 0:
		return NewSignal(Proven, "", witnesses...)
	case len(owner) == 0 && disk.Denied:
		return NewSignal(Consistent, NoPrivilege, witnesses...)
	}
	return NewSignal(Consistent, CountersAbsent, witnesses...)
}

// owners are the witnesses of whose doing it was. Either is enough: I/O of helper threads and through
// drivers is sometimes charged to the cgroup alone. One that was reset witnesses nothing.
func (d Disk) owners(did string, bytes float64) []Witness {
	expected := Range{leastShare * bytes, mostShare * bytes}
	var all []Witness
	for _, of := range []struct {
		name  string
		count Count
	}{{"process_" + did, d.Process}, {"cgroup_" + did, d.Cgroup}} {
		if of.count.Known && !of.count.Reset {
			all = append(all, NewWitness(of.name, of.count.Value, "bytes", expected))
		}
	}
	return all
}

// drives is the witness of the drive; none without it.
func (d Disk) drives(did string, bytes float64) []Witness {
	if !d.Device.Known {
		return nil
	}
	return []Witness{NewWitness("device_"+did, max(0, d.Device.Value-d.Own), "bytes", atLeast(deviceShare*bytes))}
}

// reset says whether a counter that the verdict needs was reset: the drive's, or that of the owner if
// there is no other.
func (d Disk) reset() bool {
	intact := func(c Count) bool { return c.Known && !c.Reset }
	owned := intact(d.Process) || intact(d.Cgroup)
	return d.Device.Reset || !owned && (d.Process.Reset || d.Cgroup.Reset)
}

func anyAgrees(witnesses []Witness) bool {
	for _, w := range witnesses {
		if w.Agrees {
			return true
		}
	}
	return false
}
