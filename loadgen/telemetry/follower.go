package telemetry

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/loadgen/runfile"

	"golang.org/x/sys/unix"
)

const (
	// borderQueue is how many phase borders may wait for a slow source.
	borderQueue = 64
	// maxDropped bounds the set of dropped series: a page may add new ones forever.
	maxDropped = 10_000
	// maxReason bounds the error texts in the file, in bytes.
	maxReason = 200
)

// follower samples one source on its own goroutine, so that a source that hangs does not delay the others. All fields
// below borders belong to that goroutine.
type follower struct {
	index   int
	source  Source
	options Options
	client  *http.Client
	parse   func(page []byte) ([]observation, error)
	room    int // series that this source may have
	out     *writer
	borders chan border
	taken   func()      // called for every border, sampled or failed
	away    func() bool // reports whether the engine is away
	resting func() bool // reports whether the page belongs to an engine that is away

	series  map[string]int // index by key
	last    map[int]float64
	dropped map[string]bool
	stats   runfile.SourceSamplingStats
	cpu     time.Duration

	// latest is the last sample, for other goroutines; nil if it failed.
	latest atomic.Pointer[[]observation]
}

// border is the beginning of a phase, waiting for its sample.
type border struct {
	index int // of the phase; noPhase is a sample requested at another moment
	phase string
}

const noPhase = -1

// follow samples at once and then every interval until stop is closed or the context ends. It takes the waiting border
// samples before it returns.
func (f *follower) follow(ctx context.Context, stop <-chan struct{}) {
	// Locked, so that the thread's processor time is that of this sampler alone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	defer func() { f.cpu = threadTime() - start }()

	due := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			f.takeBorders(ctx)
			return
		case <-stop:
			f.takeBorders(ctx)
			return
		case b := <-f.borders:
			f.sampleBorder(ctx, b)
		case <-timer.C:
			f.takeBorders(ctx) // first, since a phase without its border has no figures
			if f.expected() {
				f.stats.SamplesWanted++
				if f.sample(ctx, nil) {
					f.stats.SamplesGot++
				}
			}
			due = due.Add(f.options.Interval)
			due = f.skip(due)
			timer.Reset(time.Until(due))
		}
	}
}

// expected reports whether samples between borders are due.
func (f *follower) expected() bool { return !f.source.Borders && !f.resting() }

// skip moves due into the future and records the samples that were missed: the machine was asleep, or a border's sample
// took too long.
func (f *follower) skip(due time.Time) time.Time {
	skipped := 0
	for now := time.Now(); due.Before(now); due = due.Add(f.options.Interval) {
		skipped++
	}
	if skipped > 0 && f.expected() {
		f.stats.SamplesWanted += skipped
		f.out.put(Line{Gap: &gapLine{f.index, f.options.Clock(), skipped, "not taken in time"}})
	}
	return due
}

// takeBorders takes the samples of all waiting borders.
func (f *follower) takeBorders(ctx context.Context) {
	for {
		select {
		case b := <-f.borders:
			f.sampleBorder(ctx, b)
		default:
			return
		}
	}
}

func (f *follower) sampleBorder(ctx context.Context, b border) {
	if b.index == noPhase {
		f.sample(ctx, nil)
		return
	}
	defer f.taken()
	if f.resting() {
		return
	}
	if !f.sample(ctx, &b) {
		f.stats.MissingBorders = append(f.stats.MissingBorders, b.phase)
	}
}

// borderPatience is the least time that a page has to answer at the border of a phase, at any interval: the border has
// no other sample, and without it the phase has no figures.
const borderPatience = 2 * time.Second

// sample scrapes once and writes the changed values, or the reason of the failure.
func (f *follower) sample(ctx context.Context, border *border) bool {
	// Shorter than the interval, so that a source that hangs delays no later sample.
	patience := f.options.Interval * 9 / 10
	if border != nil {
		patience = max(patience, borderPatience)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	at := f.options.Clock()
	page, err := fetch(ctx, f.client, f.source.URL)
	if f.options.Hide != nil {
		page = f.options.Hide(page)
	}
	var observations []observation
	if err == nil {
		observations, err = f.parse(page)
	}
	if err != nil {
		f.latest.Store(nil)
		f.out.put(Line{Gap: &gapLine{f.index, at, 1, shortened(err.Error())}})
		return false
	}
	f.latest.Store(&observations)
	sample := sampleLine{Source: f.index, AtNS: at}
	if border != nil {
		sample.Border = &border.index
	}
	f.out.put(f.encode(observations, sample)...)
	if border != nil && f.options.Page != nil {
		f.options.Page(f.source.Name, border.index, border.phase, page)
	}
	return true
}

// encode introduces new series and completes the sample with the values that changed.
func (f *follower) encode(observations []observation, sample sampleLine) []any {
	var lines []any
	dropped := map[string]int{}
	here := make(map[int]bool, len(observations))
	away := !f.source.Foreign && f.away()
	admitted := f.admitted(observations, away)
	for _, o := range observations {
		index, known := f.series[o.key]
		if !known && away && ofOne(o) {
			continue // it is admitted when the engine is there
		}
		if !known {
			if !admitted[o.key] {
				if f.firstDrop(o.key) {
					dropped[o.name]++
				}
				continue
			}
			index = len(f.series)
			f.series[o.key] = index
			lines = append(lines, Line{Series: &seriesLine{f.index, o.name, o.labels, o.counter}})
		}
		here[index] = true
		if last, had := f.last[index]; !had || last != o.value {
			f.last[index] = o.value
			sample.Index = append(sample.Index, index)
			sample.Values = append(sample.Values, o.value)
		}
	}
	sample.Gone = f.forget(here)
	lines = append(lines, f.droppedLines(dropped)...)
	return append(lines, Line{Sample: &sample})
}

// admitted returns the keys of new series that fit; on most pages there are no new series.
func (f *follower) admitted(observations []observation, away bool) map[string]bool {
	if len(f.series) == f.room {
		return nil
	}
	reserved := 0
	if away {
		observations = slices.DeleteFunc(slices.Clone(observations), ofOne)
	}
	if away || !f.source.Foreign && expectsEngine(observations) {
		reserved = f.room / engineShare
	}
	return admit(observations, f.series, f.room-len(f.series), reserved)
}

// firstDrop reports whether a series is dropped for the first time.
func (f *follower) firstDrop(key string) bool {
	if f.dropped[key] || len(f.dropped) == maxDropped {
		return false
	}
	f.dropped[key] = true
	return true
}

// forget returns the series that were on the last page and are not on this one.
func (f *follower) forget(here map[int]bool) []int {
	var gone []int
	for index := range len(f.series) {
		if _, had := f.last[index]; had && !here[index] {
			delete(f.last, index)
			gone = append(gone, index)
		}
	}
	return gone
}

func (f *follower) droppedLines(dropped map[string]int) []any {
	var lines []any
	for _, name := range slices.Sorted(maps.Keys(dropped)) {
		f.stats.SeriesDropped += dropped[name]
		lines = append(lines, Line{Dropped: &droppedLine{f.index, name, dropped[name]}})
	}
	return lines
}

func shortened(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	return strings.ToValidUTF8(reason[:maxReason], "")
}

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
