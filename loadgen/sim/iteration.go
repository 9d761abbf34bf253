package sim

import (
	"net/http"
	"time"
)

// iteration is one step in the format of TensorRT-LLM's GET /metrics.
type iteration struct {
	Timestamp     string         `json:"timestamp"`
	Iter          int64          `json:"iter"`
	LatencyMS     float64        `json:"iterLatencyMS"`
	Active        int            `json:"numActiveRequests"`
	Queued        int            `json:"numQueuedRequests"`
	Completed     int64          `json:"numCompletedRequests"`
	MaxActive     int            `json:"maxNumActiveRequests"`
	GPUMemUsage   int64          `json:"gpuMemUsage"`
	KVCache       iterationKV    `json:"kvCacheStats"`
	InflightBatch iterationBatch `json:"inflightBatchingStats"`
}

type iterationKV struct {
	MaxBlocks      int     `json:"maxNumBlocks"`
	FreeBlocks     int     `json:"freeNumBlocks"`
	UsedBlocks     int     `json:"usedNumBlocks"`
	TokensPerBlock int     `json:"tokensPerBlock"`
	ReusedBlocks   int64   `json:"reusedBlocks"`
	MissedBlocks   int64   `json:"missedBlocks"`
	HitRate        float64 `json:"cacheHitRate"`
}

type iterationBatch struct {
	Scheduled     int `json:"numScheduledRequests"`
	Context       int `json:"numContextRequests"`
	Generating    int `json:"numGenRequests"`
	Paused        int `json:"numPausedRequests"`
	ContextTokens int `json:"numCtxTokens"`
}

// mostIterations bounds the unread iterations.
const mostIterations = 1000

// iterations are the steps since the last read.
type iterations struct{ unread []iteration }

// add adds a step; the lock is held. Only TensorRT-LLM keeps steps.
func (i *iterations) add(e *Engine, done step, took time.Duration, now time.Time) {
	if e.vendor.name != TensorRTLLM {
		return
	}
	if len(i.unread) == mostIterations {
		i.unread = i.unread[1:]
	}
	t, held := &e.tally, e.batch.cache.Held()
	reading := 0
	for _, s := range e.batch.running {
		if s.prefilled < s.goal {
			reading++
		}
	}
	i.unread = append(i.unread, iteration{
		Timestamp: now.Format("01-02-2006 15:04:05.000000"), Iter: t.iterations, LatencyMS: float64(took) / float64(time.Millisecond),
		Active: len(e.batch.running), Queued: len(e.batch.waiting), Completed: t.ends[finishStop] + t.ends[finishLength],
		MaxActive:   e.config.MaxBatch,
		GPUMemUsage: e.config.Memory.WeightBytes + e.config.Memory.OverheadBytes + int64(e.tiers.Device)*e.config.KV.BlockBytes(),
		KVCache: iterationKV{
			MaxBlocks: e.tiers.Device, FreeBlocks: e.tiers.Device - held, UsedBlocks: held, TokensPerBlock: e.config.KV.TokensPerBlock,
			ReusedBlocks: t.reusedBlocks, MissedBlocks: t.missedBlocks, HitRate: ratio(t.reusedBlocks, t.reusedBlocks+t.missedBlocks),
		},
		InflightBatch: iterationBatch{Scheduled: reading + done.decoding, Context: reading, Generating: done.decoding, ContextTokens: done.prefillTokens},
	})
}

// drain returns the unread steps and drops them: two readers each get only a part.
func (e *Engine) drain(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	unread := e.steps.unread
	e.steps.unread = nil
	e.mu.Unlock()
	if unread == nil {
		unread = []iteration{}
	}
	sendJSON(w, http.StatusOK, unread)
}
