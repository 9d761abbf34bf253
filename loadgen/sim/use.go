package sim

import (
	"cmp"
	"context"
	"time"
)

// Use is the engine's use of resources, as plain numbers for a simulated host.
type Use struct {
	// Running and Waiting are requests in the batch and in the queue.
	Running, Waiting int
	// KVTokens is the capacity in tokens of the blocks that requests hold, of KVCapacityTokens.
	KVTokens, KVCapacityTokens int
	// BusyRatio is the share of the time since the last report in which the engine computed, 0 to 1.
	BusyRatio float64

	// DeviceBytes is memory of cudaMalloc: the weights loaded so far, overhead, and from the start the whole KV cache.
	// PinnedBytes is the host tier.
	DeviceBytes, PinnedBytes int64
	// DiskTierBytes is the size of the disk tier's file, which is allocated whole.
	DiskTierBytes int64
	// WeightsRead is how many bytes of the weights' file were read, through the page cache.
	WeightsRead int64
	// DiskReadBytes and DiskWrittenBytes are the transfers of the disk tier since the engine started, bypassing the
	// page cache.
	DiskReadBytes, DiskWrittenBytes int64
	// PromptTokens and GeneratedTokens are those of the counters.
	PromptTokens, GeneratedTokens int64
}

// useInterval is short compared with the second at which hosts are sampled, and long compared with a step.
const useInterval = 100 * time.Millisecond

// reportUse calls OnUse until the context ends.
func (e *Engine) reportUse(ctx context.Context) {
	ticker := time.NewTicker(cmp.Or(e.config.UseInterval, useInterval))
	defer ticker.Stop()
	last, lastBusy := time.Now(), time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			use, busy := e.use(now)
			if elapsed := now.Sub(last); elapsed > 0 {
				use.BusyRatio = min(1, max(0, float64(busy-lastBusy)/float64(elapsed)))
			}
			last, lastBusy = now, busy
			e.report(use)
		}
	}
}

// reportNow calls OnUse outside its interval, when memory has changed at once.
func (e *Engine) reportNow() {
	use, _ := e.use(time.Now())
	e.report(use)
}

// report calls OnUse, one report after the other.
func (e *Engine) report(use Use) {
	if e.config.OnUse == nil {
		return
	}
	e.reporting <- struct{}{}
	defer func() { <-e.reporting }()
	e.config.OnUse(use)
}

// use returns the current state, and for how long the engine has computed so far.
func (e *Engine) use(now time.Time) (Use, time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	per, block := e.config.KV.TokensPerBlock, e.config.KV.BlockBytes()
	moves := e.batch.cache.moves
	use := Use{
		Running: len(e.batch.running), Waiting: len(e.batch.waiting),
		KVTokens: e.batch.cache.held * per, KVCapacityTokens: e.tiers.Device * per,
		WeightsRead:   e.loads.bytes(e.config.Memory.WeightBytes, now),
		DiskReadBytes: moves.DiskToDevice * block, DiskWrittenBytes: moves.diskWrites() * block,
		PromptTokens: e.tally.promptTokens, GeneratedTokens: e.tally.generatedTokens,
	}
	if !e.loads.from.IsZero() {
		use.DeviceBytes = use.WeightsRead + e.config.Memory.OverheadBytes
	}
	if e.made {
		use.DeviceBytes += int64(e.tiers.Device) * block
		use.PinnedBytes, use.DiskTierBytes = int64(e.tiers.Host)*block, int64(e.tiers.Disk)*block
	}
	return use, e.busy.read(now)
}

// stopwatch adds up time.
type stopwatch struct {
	total time.Duration
	since time.Time // zero: stopped
}

func (w *stopwatch) start(now time.Time) {
	if w.since.IsZero() {
		w.since = now
	}
}

func (w *stopwatch) stop(now time.Time) {
	w.total, w.since = w.read(now), time.Time{}
}

func (w *stopwatch) read(now time.Time) time.Duration {
	if w.since.IsZero() {
		return w.total
	}
	return w.total + now.Sub(w.since)
}

// loading is the progress of reading the weights.
type loading struct {
	from, until time.Time // from is zero before the start
}

// bytes returns how many of all bytes are read by now.
func (l loading) bytes(all int64, now time.Time) int64 {
	switch {
	case l.from.IsZero():
		return 0
	case !now.Before(l.until):
		return all
	}
	return int64(float64(all) * float64(now.Sub(l.from)) / float64(l.until.Sub(l.from)))
}
