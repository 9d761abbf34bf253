package cell

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Names of flags. Each is shown beside the figures of its cell, which is never left out because of one.
const (
	CacheMissed  = "cache missed"
	EarlyRole    = "early role"
	PrefillInTG  = "prefill in tg"
	ShortAnswers = "short answers"
	Queued       = "queued"
	Preempted    = "preempted"
	Throttled    = "throttled"
	DoesNotFit   = "does not fit"
	Invalid      = "invalid"
)

// Flag is what is wrong with a cell, or with how its figures are usually read, and the evidence for it.
type Flag struct{ Name, Evidence string }

// Limits of flags.
const (
	// fewestCached is the share of the tokens of a depth that fill whole blocks, which must come from the cache. The rest is
	// for what the chat template puts behind the depth.
	fewestCached = .9
	// mostPrefill is the share of the time of tg that may be the prefill of slower requests.
	mostPrefill = .05
)

// Flags returns the flags that the requests show, then those of the run.
func (r Row) Flags() []Flag {
	var all []Flag
	add := func(name, evidence string) {
		if evidence != "" {
			all = append(all, Flag{name, evidence})
		}
	}
	add(r.failures())
	add(CacheMissed, r.cacheMissed())
	add(EarlyRole, r.earlyRole())
	add(PrefillInTG, r.prefillInDecode())
	add(ShortAnswers, r.shortAnswers())
	return append(all, r.Found...)
}

// failures counts the requests that did not end ok.
func (r Row) failures() (name, evidence string) {
	failed, sent := 0, 0
	var causes []string
	for _, batch := range r.Batches {
		for _, request := range batch {
			sent++
			if request.Status == openai.StatusOK {
				continue
			}
			failed++
			cause := string(request.Status)
			if request.HTTPStatus != 0 && request.Status == openai.StatusHTTP {
				cause = fmt.Sprintf("HTTP %d", request.HTTPStatus)
			}
			if !slices.Contains(causes, cause) {
				causes = append(causes, cause)
			}
		}
	}
	if failed == 0 {
		return "", ""
	}
	return fmt.Sprintf("errors %d of %d", failed, sent), "they ended in " + strings.Join(causes, ", ") + "; the figures are of the others"
}

// cacheMissed compares the cached tokens with the depth that was sent ahead.
func (r Row) cacheMissed() string {
	if !r.Cached {
		return ""
	}
	all := r.requests()
	missed, silent, fewest, held := 0, 0, r.Depth, rundir.CacheHolds(r.Depth, r.CacheBlock)
	for _, request := range all {
		switch cached := request.TokensCached; {
		case cached == nil:
			silent++
		case float64(*cached) < fewestCached*float64(held):
			missed++
			fewest = min(fewest, *cached)
		}
	}
	switch {
	case missed > 0:
		return fmt.Sprintf("%d of %d requests, as few as %d of %d tokens from the cache, where whole blocks of it hold %d", missed, len(all), fewest, r.Depth, held)
	case silent > 0:
		return fmt.Sprintf("the server does not report cached tokens of %d of %d requests", silent, len(all))
	}
	return ""
}

// earlyRole finds requests whose first event came more than a step before the first token: before the prompt was read.
func (r Row) earlyRole() string {
	all := r.requests()
	early, most, step := 0, 0., 0.
	for _, request := range all {
		first := firstChoice(request)
		rate := decodeRate(request)
		if first == nil || !(rate > 0) {
			continue
		}
		if before := seconds(*request.FirstTokenNS - *first); before > 1/rate {
			early++
			if before > most {
				most, step = before, 1/rate
			}
		}
	}
	if early == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d requests, up to %s before the first token, where a token takes %s", early, len(all), format.Seconds(most), format.Seconds(step))
}

// prefillShare returns the share of the time of llama-benchy's tg in which some requests had no token yet, and that
// time, in the batch that has most of it.
func (r Row) prefillShare() (share, took float64) {
	if r.Concurrency == 1 {
		return 0, 0
	}
	for _, batch := range r.Batches {
		ok := answered(batch)
		if len(ok) < 2 {
			continue
		}
		first, lastFirst, last := *ok[0].FirstTokenNS, *ok[0].FirstTokenNS, int64(0)
		for _, request := range ok {
			first, lastFirst = min(first, *request.FirstTokenNS), max(lastFirst, *request.FirstTokenNS)
			moments := arrivals(request)
			last = max(last, moments[len(moments)-1])
		}
		if whole := seconds(last - first); whole > 0 && seconds(lastFirst-first)/whole > share {
			took = seconds(lastFirst - first)
			share = took / whole
		}
	}
	return share, took
}

func (r Row) prefillInDecode() string {
	share, took := r.prefillShare()
	if share <= mostPrefill {
		return ""
	}
	return fmt.Sprintf("first tokens are up to %s apart, %s of the time of tg (total)", format.Seconds(took), format.Ratio(share))
}

// shortAnswers finds answers that ended before the tokens that the cell asks for.
func (r Row) shortAnswers() string {
	all := r.requests()
	short, shortest := 0, r.Response
	for _, request := range all {
		if n := request.TokensOut; n != nil && *n < r.Response {
			short++
			shortest = min(shortest, *n)
		}
	}
	if short == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d answers have fewer than %d tokens, the shortest %d", short, len(all), r.Response, shortest)
}
