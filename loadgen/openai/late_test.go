package openai

import (
	"slices"
	"testing"
	"time"
)

// merged is an answer of six tokens, 10 ms apart, whose third to fifth came in one read.
func merged() Record {
	ms := time.Millisecond.Nanoseconds()
	return Record{
		DispatchNS: new(int64(0)), FirstTokenNS: new(10 * ms), TokensOut: new(6),
		ArrivalsNS: []int64{10 * ms, 10 * ms, 30 * ms, 0, 0, 10 * ms}, ReadIDs: []int{1, 2, 3, 3, 3, 4}, ArrivalTokens: []int{1, 1, 1, 1, 1, 1},
	}
}

func gapsOf(each func([]int64, func(Gap)), early ...int64) (all []Gap) {
	for i := range early {
		early[i] *= time.Millisecond.Nanoseconds()
	}
	each(early, func(g Gap) { all = append(all, g) })
	return all
}

func TestGapsOfALateReadLieInTheTimeSinceTheReadBefore(t *testing.T) {
	const ms = time.Millisecond
	exact := func(d time.Duration) Gap { return Gap{d, d, d, 1} }
	for name, c := range map[string]struct {
		got, want []Gap
	}{
		"one write of the server": {gapsOf(merged().BoundedChunkGaps, 0, 0, 0, 0, 0, 0), []Gap{exact(10 * ms), exact(30 * ms), exact(10 * ms)}},
		"a late read: the largest of its three gaps is at least a third, the next at most a half": {
			gapsOf(merged().BoundedChunkGaps, 0, 0, 30, 30, 0, 0), []Gap{exact(10 * ms), {30 * ms, 10 * ms, 30 * ms, 1}, {-1, 0, 15 * ms, 1}, {-1, 0, 10 * ms, 1}, exact(10 * ms)},
		},
		"a client that was late for 6 ms only": {
			gapsOf(merged().BoundedChunkGaps, 0, 0, 6, 6, 0, 0), []Gap{exact(10 * ms), {30 * ms, 24 * ms, 30 * ms, 1}, {-1, 0, 6 * ms, 1}, {-1, 0, 3 * ms, 1}, exact(10 * ms)},
		},
		"the last chunk came with what ends the answer": {
			gapsOf(merged().BoundedChunkGaps, 0, 0, 0, 0, 0, 7), []Gap{exact(10 * ms), exact(30 * ms), {10 * ms, 3 * ms, 10 * ms, 1}},
		},
		"the first chunk is unsure": {
			gapsOf(merged().BoundedChunkGaps, 4, 0, 0, 0, 0, 0), []Gap{{10 * ms, 10 * ms, 14 * ms, 1}, exact(30 * ms), exact(10 * ms)},
		},
		"latencies of tokens": {gapsOf(merged().BoundedITL, 0, 0, 0, 0, 0, 0), []Gap{exact(10 * ms), {10 * ms, 10 * ms, 10 * ms, 3}, exact(10 * ms)}},
		"latencies of tokens of a late read": {
			gapsOf(merged().BoundedITL, 0, 0, 30, 30, 0, 0), []Gap{exact(10 * ms), {10 * ms, 0, 30 * ms, 1}, {10 * ms, 0, 15 * ms, 1}, {10 * ms, 0, 10 * ms, 1}, exact(10 * ms)},
		},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// FuzzTheBoundsHoldTheTruth merges any arrivals of a true stream in late reads: sorted, the true gaps lie between the
// sorted lows and highs.
func FuzzTheBoundsHoldTheTruth(f *testing.F) {
	f.Add([]byte{10, 10, 10, 10}, uint16(0b0110))
	f.Add([]byte{1, 200, 3, 0, 90, 90}, uint16(0b101100))
	f.Fuzz(func(t *testing.T, steps []byte, merges uint16) {
		if len(steps) < 2 || len(steps) > 16 {
			return
		}
		r := Record{DispatchNS: new(int64(0)), TokensOut: new(len(steps))}
		var truth []int64
		at, seen := int64(0), int64(0) // of the true stream, of the last read
		early := make([]int64, len(steps))
		read := 0
		for i := 0; i < len(steps); {
			first, before := i, seen
			var times []int64
			for {
				at += int64(steps[i])
				times = append(times, at)
				if i++; i == len(steps) || merges>>i&1 == 0 {
					break
				}
			}
			for j := range times {
				if j == 0 {
					r.ArrivalsNS = append(r.ArrivalsNS, at-before)
				} else {
					r.ArrivalsNS = append(r.ArrivalsNS, 0)
				}
				r.ReadIDs, r.ArrivalTokens = append(r.ReadIDs, read), append(r.ArrivalTokens, 1)
				if j < len(times)-1 {
					early[first+j] = at - before
				}
			}
			seen, read = at, read+1
		}
		for _, step := range steps[1:] {
			truth = append(truth, int64(step))
		}
		slices.Sort(truth)
		var lows, highs []int64
		values := 0
		r.BoundedChunkGaps(early, func(g Gap) {
			lows, highs = append(lows, int64(g.Low)), append(highs, int64(g.High))
			if g.Value >= 0 {
				values++
			}
		})
		slices.Sort(lows)
		slices.Sort(highs)
		for i, want := range truth {
			// A gap of 0 between chunks of one read is no gap of its own where the read was not late.
			if len(lows) == len(truth) && (lows[i] > want || highs[i] < want) {
				t.Fatalf("gap %d of %v is %d, outside of %d to %d: %+v, early %v", i, truth, want, lows[i], highs[i], r, early)
			}
		}
		if reported := len(slices.Collect(r.ChunkGaps())); values != reported {
			t.Fatalf("%d gaps with bounds, %d are reported", values, reported)
		}
		var plain, bounded int
		for _, n := range r.ITL() {
			plain += n
		}
		r.BoundedITL(early, func(g Gap) {
			if bounded += g.Tokens; g.Low > g.Value || g.High < g.Low {
				t.Fatalf("%+v", g)
			}
		})
		if plain != bounded {
			t.Fatalf("%d tokens with bounds, ITL has %d", bounded, plain)
		}
	})
}
