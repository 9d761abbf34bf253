package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Requests in flight hold blocks of the cache, so that an engine refuses to empty it until they have ended.
const (
	resetPatience = 5 * time.Second
	resetPause    = 500 * time.Millisecond
)

// ResetPrefixCache asks the engine to empty its prefix cache. An error means that the engine does not offer it; a
// refusal is in the result.
func (i *Identity) ResetPrefixCache(ctx context.Context, engine string) (*rundir.PrefixCacheReset, error) {
	known, _ := i.api.known.Find(engine)
	reset := known.Reset
	if reset == nil {
		return nil, fmt.Errorf("%s: engine %s has no request that empties its prefix cache; %s have one", i.url, engine, strings.Join(resettingNames(i.api.known), " and "))
	}
	for patience := time.Now().Add(resetPatience); ; {
		answer := i.api.send(ctx, http.MethodPost, reset.Path, []byte{})
		if answer.status == http.StatusNotFound || answer.status == http.StatusMethodNotAllowed {
			return nil, fmt.Errorf("%s: POST %s answered %d %s: %s", i.url, reset.Path, answer.status, http.StatusText(answer.status), reset.Without)
		}
		found := resetOutcome(reset.Path, answer)
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

// busy reports whether an engine refused because it still holds blocks: engines answer {"success":false}, or 400.
func busy(answer reply) bool {
	return answer.status == http.StatusOK || answer.status == http.StatusBadRequest
}

// resetOutcome reads the answer. Older releases that do not report success have an empty body.
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

// resettingNames are the names of the engines with a request that empties the prefix cache.
func resettingNames(known spec.Engines) []string {
	var names []string
	for _, e := range known {
		if e.Reset != nil {
			names = append(names, e.Name)
		}
	}
	return names
}
