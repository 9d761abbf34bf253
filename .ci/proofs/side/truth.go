package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"time"
)

// request is what a server stamped of one streamed request. Moments are nanoseconds of the server's monotonic clock.
type request struct {
	ReceivedNS int64 `json:"received_ns"`
	// WrittenNS has the moment just before the write of each event with a token, Tokens the tokens in it.
	WrittenNS []int64   `json:"written_ns"`
	Tokens    []float64 `json:"tokens"`
	// Silent are the events whose tokens have no text of their own, as half of a letter. The first event is none.
	Silent []int `json:"silent,omitempty"`
	// Prompt tokens, of which so many were Cached; the others were computed.
	Prompt int `json:"prompt_tokens"`
	Cached int `json:"cached_tokens"`
	// Asked is max_tokens of the request.
	Asked  int `json:"asked_tokens"`
	Status int `json:"status"`
	// Timings are llama.cpp's own figures.
	Timings *timings `json:"timings,omitempty"`

	output int // tokens of the answer, by its usage
}

// timings are those of llama.cpp's answers: prompt tokens that it computed and found in its cache, tokens of the answer,
// and milliseconds from the begin of the prompt's computation to the first token, and from there to the last.
type timings struct {
	PromptN     int     `json:"prompt_n"`
	PromptMS    float64 `json:"prompt_ms"`
	PredictedN  int     `json:"predicted_n"`
	PredictedMS float64 `json:"predicted_ms"`
	CacheN      int     `json:"cache_n"`
}

// truth collects requests in the order in which they were received.
type truth struct {
	mutex sync.Mutex
	all   []*request
	start time.Time
}

// now is the clock of the stamps.
func (t *truth) now() int64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.start.IsZero() {
		t.start = time.Now()
	}
	return int64(time.Since(t.start))
}

func (t *truth) add(r *request) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.all = append(t.all, r)
}

func (t *truth) write(file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	encoder := json.NewEncoder(out)
	for _, one := range t.all {
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	return out.Close()
}

// readTruth reads the requests of a session's cells: those that ask for so many tokens. Others are probes.
func readTruth(file string, asked int) ([]request, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var all []request
	for decoder := json.NewDecoder(in); ; {
		var one request
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(one.WrittenNS) != len(one.Tokens) {
			return nil, fmt.Errorf("%s: a request with %d events and the tokens of %d", file, len(one.WrittenNS), len(one.Tokens))
		}
		if one.Asked == asked {
			all = append(all, one)
		}
	}
}

// figures are those of a row: prompt tokens that were computed and tokens of answers per second, and the mean time to
// the first token in milliseconds. NaN stands for one that cannot be had.
type figures struct{ PP, TG, TTFT float64 }

func (f figures) list() [3]float64 { return [3]float64{f.PP, f.TG, f.TTFT} }

// stamped computes the figures of batches from the stamps, of requests that were answered.
func stamped(batches [][]request) figures {
	var prefill, decode, waits []float64
	for _, batch := range answered(batches) {
		for _, r := range batch {
			waits = append(waits, milliseconds(r.WrittenNS[0]-r.ReceivedNS))
		}
		prefill, decode = append(prefill, computedRate(batch)), append(decode, decodeRate(batch))
	}
	return figures{mean(prefill), mean(decode), mean(waits)}
}

// answered returns the requests that were answered, without batches that have none.
func answered(batches [][]request) [][]request {
	var all [][]request
	for _, batch := range batches {
		var ok []request
		for _, r := range batch {
			if r.Status == 200 && len(r.WrittenNS) > 0 {
				ok = append(ok, r)
			}
		}
		if len(ok) > 0 {
			all = append(all, ok)
		}
	}
	return all
}

// values are those of single batches.
type values struct{ PP, TG []float64 }

// customary computes from the stamps what changes from one session to the next as llama-benchy's figures do: tokens per
// second are those from the first first token to the last last one, without those of silent events.
func customary(batches [][]request) values {
	var v values
	for _, batch := range answered(batches) {
		v.PP, v.TG = append(v.PP, computedRate(batch)), append(v.TG, spanRate(batch))
	}
	return v
}

// computedRate is the computed prompt tokens of a batch over the time from its first request to its last first token.
func computedRate(batch []request) float64 {
	from, to, tokens := int64(math.MaxInt64), int64(0), 0
	for _, r := range batch {
		from, to, tokens = min(from, r.ReceivedNS), max(to, r.WrittenNS[0]), tokens+r.Prompt-r.Cached
	}
	return float64(tokens) / seconds(to-from)
}

// decodeRate is the tokens per second while all requests of a batch decode: from the last first token to the first last
// one. A token counts evenly over the time since the event before its own.
func decodeRate(batch []request) float64 {
	from, to := int64(0), int64(math.MaxInt64)
	for _, r := range batch {
		from, to = max(from, r.WrittenNS[0]), min(to, r.WrittenNS[len(r.WrittenNS)-1])
	}
	if to <= from {
		return math.NaN()
	}
	tokens := 0.
	for _, r := range batch {
		for i := 1; i < len(r.WrittenNS); i++ {
			begin, end := r.WrittenNS[i-1], r.WrittenNS[i]
			if inside := min(end, to) - max(begin, from); inside > 0 {
				tokens += r.Tokens[i] * float64(inside) / float64(end-begin)
			}
		}
	}
	return tokens / seconds(to-from)
}

// spanRate is the tokens per second of a batch from its first token to its last.
func spanRate(batch []request) float64 {
	from, to, tokens := int64(math.MaxInt64), int64(0), 0.
	for _, r := range batch {
		from = min(from, r.WrittenNS[0])
		for i := 1; i < len(r.WrittenNS); i++ {
			if !slices.Contains(r.Silent, i) {
				to, tokens = max(to, r.WrittenNS[i]), tokens+r.Tokens[i]
			}
		}
	}
	return tokens / seconds(to-from)
}

// timed computes the figures from llama.cpp's timings. They leave out the time in a queue, so they are those of one
// request at a time. The first token ends the prompt's time, so that the others are predicted_n - 1.
func timed(batches [][]request) figures {
	var prefill, decode, waits []float64
	for _, batch := range batches {
		for _, r := range batch {
			t := r.Timings
			if len(batch) > 1 || t == nil {
				nan := math.NaN()
				return figures{nan, nan, nan}
			}
			prefill = append(prefill, float64(t.PromptN)/t.PromptMS*1e3)
			decode = append(decode, float64(t.PredictedN-1)/t.PredictedMS*1e3)
			waits = append(waits, t.PromptMS)
		}
	}
	return figures{mean(prefill), mean(decode), mean(waits)}
}

// mean is NaN without a value, and of a value that is.
func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func seconds(ns int64) float64      { return float64(ns) / 1e9 }
func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }
