package sim

import (
	"time"
)

// reading is all values of a page at one moment.
type reading struct {
	tally
	running, waiting int
	started          int // of the running ones, those that have their first token
	served           bool
	held             int // blocks of the device that requests hold
	hostBlocks       int // blocks that the host keeps
	onboarding       int // blocks in transfer to the device
	tiers            cacheConfig
	moves            cacheMoves
	perBlock         int
	blockBytes       int64
	memory           Memory
}

func (e *Engine) reading(now time.Time) *reading {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tally.window.refresh(now)
	_, host, _ := e.batch.cache.Stored()
	r := &reading{
		tally: e.tally.clone(), running: len(e.batch.running), waiting: len(e.batch.waiting), held: e.batch.cache.Held(), hostBlocks: host,
		tiers: e.tiers, moves: e.batch.cache.Moves().Since(e.tally.moved), perBlock: e.config.KV.TokensPerBlock,
		blockBytes: e.config.KV.BlockBytes(), memory: e.config.Memory,
	}
	r.served = e.open && !e.faults.ModelGone
	for _, s := range e.batch.running {
		if !s.first.IsZero() {
			r.started++
		}
		if s.ready.After(now) {
			r.onboarding += s.found.Host + s.found.Disk
		}
	}
	return r
}

// usage returns the share of the device's blocks that requests hold.
func (r *reading) usage() float64 { return ratio(int64(r.held), int64(r.tiers.Device)) }

// offloaded and onboarded return the bytes that left the device and came back to it.
func (r *reading) offloaded() float64 {
	return float64((r.moves.DeviceToHost + r.moves.DeviceToDisk) * r.blockBytes)
}

func (r *reading) onboarded() float64 {
	return float64((r.moves.HostToDevice + r.moves.DiskToDevice) * r.blockBytes)
}

func (r *reading) deviceBytes() float64 {
	return float64(r.memory.WeightBytes + r.memory.OverheadBytes + int64(r.tiers.Device)*r.blockBytes)
}

// ratio returns part / whole, or 0 if whole is 0.
func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
