package evidence

// Hits are the prompt tokens that an engine counted as found in its prefix cache.
type Hits struct {
	// Found are the tokens found in any tier, Looked all prompt tokens of the same requests. Both include the requests of
	// other clients.
	Found, Looked Count
	// Device, Host and Disk are the parts of Found by tier, unknown where the engine does not count by tier. Elsewhere are
	// tokens from a cache whose tier is not reported: a connector, or another machine.
	Device, Host, Disk, Elsewhere Count
	// LoadedBytes are the bytes of the cache that came back to the device from the tiers below, of which the engine names
	// none.
	LoadedBytes Count
	// TokenBytes is the size of a token in the cache; 0 if unknown.
	TokenBytes float64
}

// wholeShare is the share of the prompt tokens that an engine must have counted for its count to cover all of them.
const wholeShare = 0.95

// others returns the largest possible number of other clients' tokens in the engine's count, beyond those that the run
// sent.
func (h Hits) others(sent float64) float64 { return max(0, h.Looked.Value-sent) }

// known reports whether the hits can be used. Those of an engine that restarted cannot.
func (h Hits) known() bool { return h.Found.Known && !h.Found.Reset && !h.Looked.Reset }

// whole reports whether the engine counted all tokens that the run sent, so that a small number of hits is reliable.
func (h Hits) whole(sent float64) bool {
	return h.known() && h.Looked.Known && h.Looked.Value >= wholeShare*sent
}

// few reports whether the number of tokens found, for all clients together, is at most most, which may be 0.
func (h Hits) few(sent, most float64) bool { return h.whole(sent) && h.Found.Value <= most }

// Fresh reports whether the engine computed a run's tokens, of which up to most may come from a cache; known is false
// where the engine's count does not show it.
func (h Hits) Fresh(sent, most float64) (fresh, known bool) {
	switch {
	case h.few(sent, most):
		return true, true
	case h.known() && h.Found.Value > most+h.others(sent):
		return false, true
	}
	return false, false
}

// Many reports whether the number of found tokens of a run is at least least. It subtracts the tokens of other clients,
// as if all of them had been found.
func (h Hits) Many(sent, least float64) bool {
	return h.known() && least > 0 && h.Looked.Known && h.Found.Value >= least+h.others(sent)
}

// NewFigure returns the count of hits, with the least number for the run as its range.
func (h Hits) NewFigure(sent, least float64) Figure {
	return NewFigure("engine_prefix_cache_hits", h.Found.Value, "tokens", atLeast(least+h.others(sent)))
}

// tiers returns the counts of tokens from the tiers below the device.
func (h Hits) tiers() []Figure {
	all := []Figure{NewFigure("engine_tokens_from_disk", h.Disk.Value, "tokens", atLeast(1))}
	for _, tier := range []struct {
		name  string
		count Count
	}{{"engine_tokens_from_host", h.Host}, {"engine_tokens_from_device", h.Device}, {"engine_tokens_from_unnamed_tier", h.Elsewhere}} {
		if tier.count.Known {
			all = append(all, NewFigure(tier.name, tier.count.Value, "tokens", atLeast(0)))
		}
	}
	return all
}

// fromDisk grades whether KV blocks came back from the SSD, by the engine's own count of tokens from its disk tier.
func (h Hits) fromDisk(read Disk, tiers Tiers, replay Replay) Signal {
	figures := h.tiers()
	switch {
	case h.Disk.Reset:
		return Unseen(CountersReset)
	case h.Disk.Value > 0 && h.TokenBytes <= 0:
		return NewSignal(Consistent, CountersAbsent, figures...)
	case h.Disk.Value > 0:
		return read.grade("engine_tokens_from_disk", h.Disk.Value*h.TokenBytes, h.TokenBytes, figures, reading)
	case h.Elsewhere.Value > 0 && !tiers.DiskOff:
		// A connector may have read the tokens from the disk.
		return NewSignal(NotObservable, CountersAbsent, figures...)
	}
	return NewSignal(Contradicted, h.whyNone(tiers, replay), figures...)
}

// whyNone returns the reason why no token came from the disk.
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

// loaded returns the bytes that came back from tiers that the engine does not name, and the name of their counter; 0 if
// it counts none. vLLM's own page has bytes; an exporter shows tokens. Tokens
// of unknown size are 0 bytes.
func (h Hits) loaded() (bytes float64, counter string) {
	switch usable := func(c Count) bool { return c.Known && !c.Reset && c.Value > 0 }; {
	case usable(h.LoadedBytes):
		return h.LoadedBytes.Value, "engine_loaded"
	case usable(h.Elsewhere):
		return h.Elsewhere.Value * h.TokenBytes, "engine_tokens_from_unnamed_tier"
	}
	return 0, ""
}

// fromBelow grades whether KV blocks came back from the SSD, by bytes from all tiers below the device. They are proven to
// be the SSD's if the kernel read as many; if it read fewer, another tier may have answered.
func (h Hits) fromBelow(read Disk) Signal {
	bytes, counter := h.loaded()
	signal := read.grade(counter, bytes, h.TokenBytes, nil, reading)
	if signal.Grade == Contradicted {
		signal.Grade, signal.Reason = NotObservable, CountersAbsent
	}
	return signal
}
