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

// Replay has the conditions of a part of a run that sent earlier prompts again, apart from the counters.
type Replay struct {
	// Pressed is true if the traffic in between was enough to push the blocks out of the tiers above the disk.
	Pressed bool
	// Cached is true if the answers report the prompts as cached, in any tier. CachedBytes is a lower limit of their size
	// in the cache.
	Cached      bool
	CachedBytes float64
	// SentBytes is the size in the cache of the prompts that were sent again; 0 if unknown.
	SentBytes float64
}

// SSDRehydrate grades whether KV blocks came back from the SSD in a replay. Onboards from host to device prove no read
// of the SSD; only onboards from the disk do, and only if the kernel counted as many bytes. Without KVBM the engine's own
// count of tokens from its disk tier replaces the onboards.
func SSDRehydrate(kv Moved, hits Hits, read Disk, tiers Tiers, replay Replay) Signal {
	signal := rehydrated(kv, hits, read, tiers, replay)
	loaded, _ := hits.loaded()
	back := loaded
	switch {
	case kv.FromDisk.Known:
		back = kv.FromDisk.Value * kv.BlockBytes
	case hits.Disk.Known:
		back = hits.Disk.Value * hits.TokenBytes
	}
	if signal.Grade == Proven && back < reusedShare*replay.SentBytes {
		signal.Reason = PartOnly
	}
	signal.Missing = kv.missing(signal, read, hits.Disk.Known || loaded > 0)
	return signal
}

func rehydrated(kv Moved, hits Hits, read Disk, tiers Tiers, replay Replay) Signal {
	if kv.absent() && hits.Disk.Known {
		return hits.fromDisk(read, tiers, replay)
	}
	loaded, _ := hits.loaded()
	switch reason := kv.blind(tiers, kv.FromDisk); {
	case reason == CountersAbsent && loaded > 0:
		return hits.fromBelow(read)
	case reason == CountersAbsent:
		return read.alone(replay)
	case reason != "":
		return Unseen(reason)
	}
	if kv.FromDisk.Value == 0 {
		return NewSignal(Contradicted, kv.whyNone(tiers, replay), kv.blockFigures("kvbm_blocks_from_disk", kv.FromDisk)...)
	}
	return kv.graded("kvbm_blocks_from_disk", kv.FromDisk, kv.blockFigures("kvbm_blocks_from_disk", kv.FromDisk), reading, read)
}

// SSDOffload grades whether KV blocks were written to the SSD. The size of the set that had to be kept is in bytes, 0 if it
// is not known.
func SSDOffload(kv Moved, written Disk, tiers Tiers, set float64) Signal {
	signal := offloaded(kv, written, tiers, set)
	signal.Missing = kv.missing(signal, written, false)
	return signal
}

func offloaded(kv Moved, written Disk, tiers Tiers, set float64) Signal {
	switch reason := kv.blind(tiers, kv.ToDisk); reason {
	case "":
	case CountersAbsent:
		return written.aloneWritten(set)
	default:
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
	return kv.graded("kvbm_blocks_to_disk", kv.ToDisk, blocks, writing, written)
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
func (kv Moved) graded(name string, blocks Count, figures []Figure, did direction, disk Disk) Signal {
	if kv.BlockBytes <= 0 {
		return NewSignal(Consistent, CountersAbsent, append(figures, disk.unjudged(did)...)...)
	}
	return disk.grade(name, blocks.Value*kv.BlockBytes, kv.BlockBytes, figures, did)
}

// missing lists the witnesses that a verdict on bytes lacks. A verdict that rests on none, such as a tier that is off,
// lacks none.
func (kv Moved) missing(signal Signal, disk Disk, counted bool) []Missing {
	var all []Missing
	switch {
	case signal.Grade == Contradicted && signal.Reason != BytesDisagree && signal.Reason != ServedFromPageCache:
		return nil
	case signal.Reason == TierOff:
		return nil
	case kv.Gone:
		all = append(all, Missing{"kvbm_blocks", "KVBM's metrics page did not answer any more at the end: see whether the engine restarted"})
	case !kv.Seen && !counted:
		all = append(all, Missing{"kvbm_blocks", "no page counts blocks of the disk tier, so that nothing can be proven: start the engine with DYN_KVBM_METRICS=true and pass --scrape kvbm=URL"})
	case kv.Seen && kv.BlockBytes <= 0:
		all = append(all, Missing{"kvbm_block_bytes", "the size of a block is not known, so that blocks cannot be compared with bytes: pass --set block.bytes=N or --engine-log"})
	}
	return append(all, disk.Missing...)
}
