package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// cacheReset is an engine's request that empties its prefix cache, and why a server of that engine may not have it.
// Sources: vllm/entrypoints/serve/dev/cache/api_router.py of 0.32.0, sglang/srt/entrypoints/http_server.py of 0.5.23.
type cacheReset struct{ path, without string }

func cacheResets() map[string]cacheReset {
	return map[string]cacheReset{
		"vllm":   {"/reset_prefix_cache", "vLLM has it with VLLM_SERVER_DEV_MODE=1 in its environment only"},
		"sglang": {"/flush_cache", "a gateway before SGLang may not pass it on"},
	}
}

// Requests in flight hold blocks of the cache, so that an engine refuses to empty it until they have ended.
const (
	resetPatience = 5 * time.Second
	resetPause    = 500 * time.Millisecond
)

// ResetPrefixCache asks the engine to empty its prefix cache. An error means that the engine does not offer it; a
// refusal is in the result.
func (i *Identity) ResetPrefixCache(ctx context.Context, engine string) (*rundir.PrefixCacheReset, error) {
	reset, offered := cacheResets()[engine]
	if !offered {
		return nil, fmt.Errorf("%s: engine %s has no request that empties its prefix cache; vllm and sglang have one", i.url, engine)
	}
	for patience := time.Now().Add(resetPatience); ; {
		answer := i.api.send(ctx, http.MethodPost, reset.path, []byte{})
		if answer.status == http.StatusNotFound || answer.status == http.StatusMethodNotAllowed {
			return nil, fmt.Errorf("%s: POST %s answered %d %s: %s", i.url, reset.path, answer.status, http.StatusText(answer.status), reset.without)
		}
		found := resetOutcome(reset.path, answer)
		if found.Done || !busy(answer) || time.Now().After(patience) {
			return found, ctx.Err()
		}
		select {
		case <-ctx.Done():
			return found, ctx.Err()
		case <-time.After(resetPause):
		}
	}
}

// busy reports whether an engine refused because it still holds blocks: vLLM answers {"success":false}, SGLang 400.
func busy(answer reply) bool {
	return answer.status == http.StatusOK || answer.status == http.StatusBadRequest
}

// resetOutcome reads the answer. Releases of vLLM from before it reported success have an empty body.
func resetOutcome(path string, answer reply) *rundir.PrefixCacheReset {
	reset := &rundir.PrefixCacheReset{Path: path, Status: answer.status}
	var told struct {
		Success *bool `json:"success"`
	}
	switch {
	case answer.err != nil:
		reset.Says = printable(answer.err.Error())
	case answer.status != http.StatusOK:
		reset.Says = printable(strings.TrimSpace(string(answer.body)))
	case json.Unmarshal(answer.body, &told) == nil && told.Success != nil && !*told.Success:
		reset.Says = printable(strings.TrimSpace(string(answer.body)))
	default:
		reset.Done = true
	}
	return reset
}
