package runner

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runfile"
	"github.com/umascope/umascope/loadgen/summary"
)

// maxRankLineBytes bounds one line of a schedule or of outputs.
const maxRankLineBytes = 256 << 20

// requests writes the records of all ranks on one clock, in the order in which they ended, under the name of the whole.
// It holds some batches of records of each rank in memory. Torn are the ranks whose last record is incomplete: they
// were killed.
func (w *SharedRun) requests(ctx context.Context, run string, out io.Writer) (torn []int, err error) {
	var parts []iter.Seq2[openai.Record, error]
	decoders := max(1, runtime.GOMAXPROCS(0)/len(w.Parts))
	for _, p := range w.Parts {
		parts = append(parts, func(yield func(openai.Record, error) bool) {
			for record, err := range summary.RecordsBy(p.Path(rundir.RequestsFile), decoders) {
				if errors.Is(err, summary.ErrTorn) {
					torn = append(torn, p.rank())
					return
				}
				record = record.Shifted(p.ShiftNS)
				record.Run, record.Rank = run, new(p.rank())
				if !yield(record, err) {
					return
				}
			}
		})
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false) // as in the files of the ranks
	for record, err := range mergeInOrder(func(a, b openai.Record) int { return cmp.Compare(endedNS(a), endedNS(b)) }, parts) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return torn, err
		}
		if err := encoder.Encode(record); err != nil {
			return torn, err
		}
	}
	slices.Sort(torn)
	return torn, nil
}

// endedNS returns the time of the last event of a request.
func endedNS(r openai.Record) int64 {
	for _, moment := range []*int64{r.EndNS, r.BrokenOffNS, r.DispatchNS} {
		if moment != nil {
			return *moment
		}
	}
	return r.IntendedNS
}

// outputs writes the texts that the model wrote to all ranks, one rank after the other: outputs are looked up by phase
// and index, and have no time. Without kept outputs it writes no line.
func (w *SharedRun) outputs(ctx context.Context, run string, out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, p := range w.Parts {
		path := p.Path(rundir.OutputsFile)
		for text, err := range linesOf(path) {
			var line rundir.OutputLine
			if err == nil {
				err = json.Unmarshal(text, &line)
			}
			if err := errors.Join(err, ctx.Err()); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			line.Run = run
			if err := encoder.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// haveOutputs reports whether the ranks kept the texts that the model wrote.
func (w *SharedRun) haveOutputs() bool {
	return slices.ContainsFunc(w.Parts, func(p RankRun) bool {
		_, err := os.Stat(p.Path(rundir.OutputsFile))
		return err == nil
	})
}

// plannedRequest is a line of a schedule.
type plannedRequest struct {
	phase, index int // index of the phase in the plan
	text         []byte
	part         RankRun
}

// schedule writes the lines of all ranks in the order of the plan, byte for byte. A request in the schedules of two
// ranks is an error; so is one in none, unless ranks are missing: the ranks did not share one load then, even if their
// manifests agree.
func (w *SharedRun) schedule(ctx context.Context, out io.Writer) error {
	plan := w.plan()
	var parts []iter.Seq2[plannedRequest, error]
	for _, p := range w.Parts {
		parts = append(parts, p.planned(plan))
	}
	last := plannedRequest{phase: -1, index: -1}
	for next, err := range mergeInOrder(func(a, b plannedRequest) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.index, b.index))
	}, parts) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := w.follows(last, next, plan); err != nil {
			return err
		}
		last = next
		if _, err := out.Write(next.text); err != nil {
			return err
		}
	}
	return nil
}

// plan returns the phases of load in their order, and which of them are planned during the run.
func (w *SharedRun) plan() []rundir.PlannedPhase { return w.Parts[0].Manifest.Workload.Phases }

// follows checks that a line comes right after the one before it.
func (w *SharedRun) follows(last, next plannedRequest, plan []rundir.PlannedPhase) error {
	p := plan[next.phase]
	expected := 0
	if next.phase == last.phase {
		expected = last.index + 1
	}
	switch {
	case next.index < expected:
		return fmt.Errorf("%s: request %d of %s is planned there and in %s", next.part.Folder, next.index, p.Name, last.part.Folder)
	case next.index > expected && len(w.Missing) == 0 && (p.Process.Open() || p.Limit.Requests > 0):
		// A closed loop that ends by time is planned in blocks, and the ranks reach different ones.
		return fmt.Errorf("%s: request %d of %s is planned by no rank", next.part.Folder, expected, p.Name)
	}
	return nil
}

// plannedRequest reads the schedule of a rank.
func (p RankRun) planned(plan []rundir.PlannedPhase) iter.Seq2[plannedRequest, error] {
	path := p.Path(rundir.ScheduleFile)
	return func(yield func(plannedRequest, error) bool) {
		for text, err := range linesOf(path) {
			var key struct {
				Phase string `json:"phase"`
				Index int    `json:"index"`
			}
			if err == nil {
				err = json.Unmarshal(text, &key)
			}
			phase := slices.IndexFunc(plan, func(known rundir.PlannedPhase) bool { return known.Name == key.Phase })
			if err == nil && phase < 0 {
				err = fmt.Errorf("%s is no phase of the plan", quoted(key.Phase))
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			if !yield(plannedRequest{phase, key.Index, text, p}, err) || err != nil {
				return
			}
		}
	}
}

// linesOf yields the whole lines of a file, each with its newline and in memory of its own; a missing file has none. A
// torn last line is left out: the process was killed.
func linesOf(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		file, err := runfile.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		reader := bufio.NewReaderSize(file, 64<<10)
		for {
			text, err := runfile.ReadLine(reader, nil, maxRankLineBytes)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = fmt.Errorf("a line: %w", err)
			}
			if !yield(text, err) || err != nil {
				return
			}
		}
	}
}

// mergeInOrder merges sequences that are each in order; of equal elements, the one of the first sequence comes first. It
// ends with the first error.
func mergeInOrder[T any](compare func(a, b T) int, parts []iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		type head struct {
			value T
			err   error
			next  func() (T, error, bool)
		}
		var heads []*head
		for _, part := range parts {
			next, stop := iter.Pull2(part)
			defer stop()
			if value, err, ok := next(); ok {
				heads = append(heads, &head{value, err, next})
			}
		}
		for len(heads) > 0 {
			at := 0
			for i, h := range heads {
				if h.err != nil || heads[at].err == nil && compare(h.value, heads[at].value) < 0 {
					at = i
				}
			}
			h := heads[at]
			if !yield(h.value, h.err) || h.err != nil {
				return
			}
			var ok bool
			if h.value, h.err, ok = h.next(); !ok {
				heads = slices.Delete(heads, at, at+1)
			}
		}
	}
}
