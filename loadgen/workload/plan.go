package workload

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"sync"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// planBlock is how many requests of an endless phase are planned at a time.
const planBlock = 1024

// Plan writes the schedule of all phases and returns the hash of the workload. The hash covers the schedule (with the
// hashes of prompts and parameters, without the run's own words) and the rules that the schedule follows. Of an endless
// phase it writes the first block; Prepare writes the others, each before its first request. A rank writes the requests
// that it sends; the hash is that of the whole load and the same on all ranks.
func (w *Workload) Plan(ctx context.Context, out io.Writer) (sha256Hex string, err error) {
	sum := sha256.New()
	if err := w.hashRules(sum); err != nil {
		return "", err
	}
	for _, p := range w.Phases {
		most := math.MaxInt
		if p.Endless() {
			most = planBlock
		}
		if err := w.write(ctx, out, sum, p, 0, most); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// hashRules adds the rules that the schedule's lines do not contain.
func (w *Workload) hashRules(sum hash.Hash) error {
	type rule struct {
		Phase   string                 `json:"phase"`
		Process traffic.ArrivalProcess `json:"process"`
		Limit   traffic.Limit          `json:"limit"`
	}
	rules := struct {
		Schema      string          `json:"schema"`
		Sampling    rundir.Sampling `json:"sampling"`
		Output      traffic.Lengths `json:"output_tokens"`
		Script      rundir.Script   `json:"script"`
		Concurrency int             `json:"concurrency"`
		Phases      []rule          `json:"phases"`
	}{Schema: "umascope.workload/2", Sampling: w.Sampling, Output: w.Output, Script: w.Script.Facts, Concurrency: w.Script.Slots}
	for _, p := range w.Phases {
		rules.Phases = append(rules.Phases, rule{p.Name, p.Process, p.Limit})
	}
	return json.NewEncoder(sum).Encode(rules)
}

// write writes the lines of at most most requests of a phase, from the given index on. The lines of requests that this
// process sends go to own. All lines, in the form that workload_sha256 counts, go to whole, unless it is nil.
func (w *Workload) write(ctx context.Context, own, whole io.Writer, p Phase, first, most int) error {
	buffer := bufio.NewWriter(own)
	for slot := range w.slots(p, first) {
		if slot.index-first >= most {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		taken := w.takes(slot)
		if !taken && whole == nil {
			continue
		}
		d, err := w.draft(p, slot)
		if err != nil {
			return err
		}
		if taken {
			err = json.NewEncoder(buffer).Encode(d.entry)
		}
		if whole != nil {
			err = errors.Join(err, json.NewEncoder(whole).Encode(d.hashed()), w.repeat.check(d.entry))
		}
		if err != nil {
			return err
		}
	}
	return buffer.Flush()
}

// scheduleWriter writes the schedule of an endless phase, each block before its first request.
type scheduleWriter struct {
	work  *Workload
	phase Phase
	out   io.Writer

	mutex   sync.Mutex
	written int // requests
}

// reach ensures that the line of a request is written.
func (s *scheduleWriter) reach(ctx context.Context, index int) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for ; s.phase.Endless() && index >= s.written; s.written += planBlock {
		if err := s.work.write(ctx, s.out, nil, s.phase, s.written, planBlock); err != nil && ctx.Err() == nil {
			return fmt.Errorf("schedule: %w", err)
		}
	}
	return nil
}
