package evidence

// Hits are the prompt tokens that an engine counted as found in its prefix cache.
type Hits struct {
	// Found are the tokens found in any tier, Looked all prompt tokens of the same requests. Both include the
	// requests of other clients.
	Found, Looked Count
	// Device, Host and Disk are the parts of Found by tier, unknown where the engine counts no tiers. Elsewhere are
	// tokens from a cache whose tier is not reported: a connector, or another machine.
	Device, Host, Disk, Elsewhere Count
	// TokenBytes is what a token takes in the cache; 0 is not known.
	TokenBytes float64
}

// wholeShare is how much of the prompts an engine must have counted until its count is one of all of them.
const wholeShare = 0.95

// others is how many tokens of other clients the engine counted at most, beside those that the run sent.
func (h Hits) others(sent float64) float64 { return max(0, h.Looked.Value-sent) }

// known says whether the hits can be read. Those of an engine that restarted cannot.
func (h Hits) known() bool { return h.Found.Known && !h.Found.Reset && !h.Looked.Reset }

// whole says whether the engine counted all tokens that the run sent, so that few hits mean few hits.
func (h Hits) whole(sent float64) bool {
	return h.known() && h.Looked.Known && h.Looked.Value >= wholeShare*sent
}

// few says whether not even a part of the tokens were found, whoever sent them. The part may be nothing.
func (h Hits) few(sent, most float64) bool { return h.whole(sent) && h.Found.Value <= most }

// Fresh says whether a run's tokens were computed, of which so many may come from a cache, as far as the
// engine's count shows it.
func (h Hits) Fresh(sent, most float64) (fresh, known bool) {
	switch {
	case h.few(sent, most):
		return true, true
	case h.known() && h.Found.Value > most+h.others(sent):
		return false, true
	}
	return false, false
}

// Many says whether at least so many of the tokens that a run sent were found: with those of others taken off,
// as if all of theirs had been.
func (h Hits) Many(sent, least float64) bool {
	return h.known() && least > 0 && h.Looked.Known && h.Found.Value >= least+h.others(sent)
}

// witness is the count of hits, held against the least that must be of the run.
func (h Hits) NewWitness(sent, least float64) Witness {
	return NewWitness("engine_prefix_cache_hits", h.Found.Value, "tokens", atLeast(least+h.others(sent)))
}

// tiers are the counts of tokens from the tiers below the device.
func (h Hits) tiers() []Witness {
	all := []Witness{NewWitness("engine_tokens_from_disk", h.Disk.Value, "tokens", atLeast(1))}
	for _, tier := range []struct {
		name  string
		count Count
	}{{"engine_tokens_from_host", h.Host}, {"engine_tokens_from_device", h.Device}, {"engine_tokens_from_unnamed_tier", h.Elsewhere}} {
		if tier.count.Known {
			all = append(all, NewWitness(tier.name, tier.count.Value, "tokens", atLeast(0)))
		}
	}
	return all
}

// fromDisk grades by the engine's own count of tokens from its disk tier whether KV blocks came back from the SSD.
func (h Hits) fromDisk(read Disk, tiers Tiers, replay Replay) Signal {
	witnesses := h.tiers()
	switch {
	case h.Disk.Reset:
		return Unseen(CountersReset)
	case h.Disk.Value > 0 && h.TokenBytes <= 0:
		return NewSignal(Consistent, CountersAbsent, witnesses...)
	case h.Disk.Value > 0:
		return gradeBytes("engine_tokens_from_disk", h.Disk.Value*h.TokenBytes, h.TokenBytes, witnesses, "read", read)
	case h.Elsewhere.Value > 0 && !tiers.DiskOff:
		// A connector may have read it from the disk.
		return NewSignal(NotObservable, CountersAbsent, witnesses...)
	}
	return NewSignal(Contradicted, h.whyNone(tiers, replay), witnesses...)
}

// whyNone is why no token came from the disk.
func (h Hits) whyNone(tiers Tiers, replay Replay) Reason {
	switch {
	case tiers.DiskOff:
		return TierOff
	case h.Host.Value > 0:
		return ServedFromHost
	case !replay.Pressed:
		return PressureTooSmall
	case replay.Cached:
		return ServedFromDevice
	}
	return NoMatchedTokens
}
