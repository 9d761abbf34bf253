package sim

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// tally is the engine's counts since its start. It is separate from the pages: vendors have different names for the
// counts, and a page shows all of them at one moment.
type tally struct {
	promptTokens, computedTokens, generatedTokens int64 // of completed prompts
	deviceTokens, hostTokens, diskTokens          int64 // of prompts, found in the tiers
	reusedBlocks, missedBlocks                    int64 // of prompts
	preemptions, iterations                       int64
	ends                                          map[finishReason]int64

	firstToken, queue, perToken, gap, duration histogram
	input, output, cached                      histogram // tokens of requests
	fromHost, fromDisk                         histogram // time until blocks are brought back

	window window
	moved  cacheMoves // of the cache when counting began
}

func newTally() tally {
	return tally{
		ends:       map[finishReason]int64{},
		firstToken: newHistogram(metric.VLLMTimeToFirstTokenSeconds.Buckets()),
		queue:      newHistogram(metric.VLLMRequestQueueTimeSeconds.Buckets()),
		perToken:   newHistogram(metric.VLLMRequestTimePerOutputTokenSeconds.Buckets()),
		gap:        newHistogram(metric.VLLMRequestTimePerOutputTokenSeconds.Buckets()),
		duration:   newHistogram(metric.VLLME2ERequestLatencySeconds.Buckets()),
		input:      newHistogram(lengths()), output: newHistogram(lengths()), cached: newHistogram(lengths()),
		fromHost: newHistogram(prometheus.DefBuckets), fromDisk: newHistogram(prometheus.DefBuckets),
	}
}

// lengths returns bounds for numbers of tokens; Dynamo's begin with 0 too.
func lengths() []float64 {
	return []float64{0, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}
}

// admit counts the tiers in which a prompt was found.
func (t *tally) admit(s *sequence, perBlock int, now time.Time) {
	device, host, disk := fromTiers(s.hits, perBlock)
	t.deviceTokens += device
	t.hostTokens += host
	t.diskTokens += disk
	t.computedTokens += int64(s.asked.promptTokens) - device - host - disk
	if waits := s.ready.Sub(now).Seconds(); disk > 0 {
		t.fromDisk.observe(waits)
	} else if host > 0 {
		t.fromHost.observe(waits)
	}
	t.input.observe(float64(s.asked.promptTokens))
	t.cached.observe(float64(device + host + disk))
	whole := s.asked.promptTokens / perBlock
	t.reusedBlocks += int64(s.hits.blocks())
	t.missedBlocks += int64(whole - s.hits.blocks())
	asked := (s.asked.promptTokens-1)/perBlock - s.hits.Device
	t.window.add(lookup{host: s.hits.Host, disk: s.hits.Disk, asked: asked}, now)
}

// fromTiers returns hits in tokens.
func fromTiers(hits cacheHits, perBlock int) (device, host, disk int64) {
	per := int64(perBlock)
	return int64(hits.Device) * per, int64(hits.Host) * per, int64(hits.Disk) * per
}

// observe counts one step.
func (t *tally) observe(made *outcome, now time.Time) {
	t.iterations++
	t.promptTokens += int64(made.promptTokens)
	t.generatedTokens += int64(made.generated)
	t.preemptions += int64(made.preempted)
	for _, gap := range made.gaps {
		t.gap.observe(gap.Seconds())
	}
	for _, s := range made.started {
		t.queue.observe(s.admitted.Sub(s.arrived).Seconds())
		t.firstToken.observe(s.first.Sub(s.arrived).Seconds())
	}
	for _, s := range made.finished {
		t.duration.observe(now.Sub(s.arrived).Seconds())
		t.output.observe(float64(s.answer.tokens()))
		if n := s.answer.tokens(); n > 1 {
			t.perToken.observe(now.Sub(s.first).Seconds() / float64(n-1))
		}
		t.ends[s.answer.reason]++
	}
}

// clone returns a copy that later steps do not change.
func (t *tally) clone() tally {
	c := *t
	c.ends = maps.Clone(t.ends)
	for _, h := range []*histogram{&c.firstToken, &c.queue, &c.perToken, &c.gap, &c.duration, &c.input, &c.output, &c.cached, &c.fromHost, &c.fromDisk} {
		h.counts = slices.Clone(h.counts)
	}
	return c
}

// histogram is a classic histogram. The client library's cannot be read at one moment with the rest, nor reset.
type histogram struct {
	bounds []float64
	counts []uint64 // each bucket by itself; one more than bounds
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(value float64) {
	h.counts[sort.SearchFloat64s(h.bounds, value)]++
	h.sum += value
}

// cumulative returns the number of samples up to each bound, and in all.
func (h *histogram) cumulative() (buckets map[float64]uint64, count uint64) {
	buckets = make(map[float64]uint64, len(h.bounds))
	for i, bound := range h.bounds {
		count += h.counts[i]
		buckets[bound] = count
	}
	return buckets, count + h.counts[len(h.bounds)]
}

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
	r := &reading{
		tally: e.tally.clone(), running: len(e.batch.running), waiting: len(e.batch.waiting), held: e.batch.cache.held, hostBlocks: e.batch.cache.host.len(),
		tiers: e.tiers, moves: e.batch.cache.moves.since(e.tally.moved), perBlock: e.config.KV.TokensPerBlock,
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
