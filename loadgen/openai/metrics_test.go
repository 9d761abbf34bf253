package openai

import (
	"slices"
	"testing"
	"time"
)

const ms = int64(time.Millisecond)

// workedExample is the record of the worked example: six tokens in three chunks, with an
// intended start 25 ms before the send.
func workedExample() Record {
	first, end, tokens := 100*ms, 202*ms, 6
	return Record{
		IntendedNS: -25 * ms, EligibleNS: new(-5 * ms), DispatchNS: new(int64(0)),
		FirstTokenNS: &first, FirstVisibleNS: &first, EndNS: &end,
		ArrivalsNS: []int64{100 * ms, 60 * ms, 40 * ms}, ArrivalTokens: []int{1, 3, 2},
		ReadIDs: []int{3, 4, 5}, TokensOut: &tokens, TokensSource: "usage", Status: StatusOK,
	}
}

func wantDuration(t *testing.T, name string, want time.Duration, got time.Duration, ok bool) {
	t.Helper()
	if !ok || got != want {
		t.Errorf("%s = %v (known %t), want %v", name, got, ok, want)
	}
}

func wantAbsent(t *testing.T, name string, got time.Duration, ok bool) {
	t.Helper()
	if ok || got != 0 {
		t.Errorf("%s = %v (known %t), want absent", name, got, ok)
	}
}

// itlPerToken unrolls ITL to one value per token.
func itlPerToken(r Record) []time.Duration {
	var values []time.Duration
	for value, tokens := range r.ITL() {
		values = append(values, slices.Repeat([]time.Duration{value}, tokens)...)
	}
	return values
}

func wantExampleLatencies(t *testing.T, r Record) {
	t.Helper()
	ttft, ok := r.TTFT(FromSend)
	wantDuration(t, "TTFT", 100*time.Millisecond, ttft, ok)
	ttfo, ok := r.TTFO(FromSend)
	wantDuration(t, "TTFO", 100*time.Millisecond, ttfo, ok)
	e2e, ok := r.E2E(FromSend)
	wantDuration(t, "E2E", 200*time.Millisecond, e2e, ok)
	tpot, ok := r.TPOT()
	wantDuration(t, "tpot", 20*time.Millisecond, tpot, ok)
	if got, want := slices.Collect(r.ChunkGaps()), []time.Duration{60e6, 40e6}; !slices.Equal(got, want) {
		t.Errorf("chunk gaps = %v, want %v", got, want)
	}
	if got, want := itlPerToken(r), slices.Repeat([]time.Duration{20e6}, 5); !slices.Equal(got, want) {
		t.Errorf("itl = %v, want %v", got, want)
	}
}

func TestWorkedExampleFromSendAndFromIntended(t *testing.T) {
	r := workedExample()
	wantExampleLatencies(t, r)
	ttft, ok := r.TTFT(FromIntended)
	wantDuration(t, "TTFT from intended", 125*time.Millisecond, ttft, ok)
	ttfo, ok := r.TTFO(FromIntended)
	wantDuration(t, "TTFO from intended", 125*time.Millisecond, ttfo, ok)
	e2e, ok := r.E2E(FromIntended)
	wantDuration(t, "E2E from intended", 225*time.Millisecond, e2e, ok)
	waited, ok := r.QueueDelay()
	wantDuration(t, "queue delay", 20*time.Millisecond, waited, ok)
	lag, ok := r.ClientLag()
	wantDuration(t, "client lag", 5*time.Millisecond, lag, ok)
}

func TestARequestThatWasNeverSentHasNoDelaysButItsIntent(t *testing.T) {
	r := Record{IntendedNS: 5, Status: StatusCancelled}
	waited, ok := r.QueueDelay()
	wantAbsent(t, "queue delay", waited, ok)
	lag, ok := r.ClientLag()
	wantAbsent(t, "client lag", lag, ok)
}

func TestLatenciesAreAbsentWithoutPayload(t *testing.T) {
	r := Record{DispatchNS: new(int64(5)), Status: StatusOK}
	ttft, ok := r.TTFT(FromSend)
	wantAbsent(t, "TTFT", ttft, ok)
	ttfo, ok := r.TTFO(FromSend)
	wantAbsent(t, "TTFO", ttfo, ok)
	e2e, ok := r.E2E(FromIntended)
	wantAbsent(t, "E2E", e2e, ok)
	tpot, ok := r.TPOT()
	wantAbsent(t, "tpot", tpot, ok)
	if got := slices.Collect(r.ChunkGaps()); len(got) > 0 {
		t.Errorf("chunk gaps = %v, want none", got)
	}
	if got := itlPerToken(r); len(got) > 0 {
		t.Errorf("itl = %v, want none", got)
	}
}

func TestTTFOIsAbsentWhenAllOutputIsReasoning(t *testing.T) {
	r := workedExample()
	r.FirstVisibleNS = nil
	ttfo, ok := r.TTFO(FromSend)
	wantAbsent(t, "TTFO", ttfo, ok)
}

func TestTPOTWithoutChunkTokensTakesTheFirstChunkAsOneToken(t *testing.T) {
	r := workedExample()
	r.ArrivalTokens = nil
	r.ArrivalsNS[1] += 5 * ms
	tpot, ok := r.TPOT()
	wantDuration(t, "tpot", 21*time.Millisecond, tpot, ok)
	if got := itlPerToken(r); len(got) > 0 {
		t.Errorf("itl = %v without tokens per chunk, want none", got)
	}
}

func TestTPOTOfTwoTokensIsTheGapBetweenThem(t *testing.T) {
	two := 2
	r := Record{TokensOut: &two, ArrivalsNS: []int64{100 * ms, 30 * ms}, ArrivalTokens: []int{1, 1}, ReadIDs: []int{1, 2}}
	tpot, ok := r.TPOT()
	wantDuration(t, "tpot", 30*time.Millisecond, tpot, ok)
}

func TestTPOTIsAbsentBelowTwoTokensOrWithoutLaterTokens(t *testing.T) {
	one, six := 1, 6
	for name, change := range map[string]func(*Record){
		"no token count":          func(r *Record) { r.TokensOut = nil },
		"one token":               func(r *Record) { r.TokensOut = &one },
		"all in the first chunk":  func(r *Record) { r.TokensOut, r.ArrivalTokens = &six, []int{6, 0, 0} },
		"more in it than in all":  func(r *Record) { r.TokensOut, r.ArrivalTokens = &six, []int{7, 1, 1} },
		"no arrival, only tokens": func(r *Record) { r.ArrivalsNS, r.ReadIDs = nil, nil },
		"one chunk": func(r *Record) {
			r.ArrivalsNS, r.ArrivalTokens, r.ReadIDs = r.ArrivalsNS[:1], nil, r.ReadIDs[:1]
		},
		"one read": func(r *Record) {
			r.ArrivalsNS, r.ArrivalTokens, r.ReadIDs = []int64{100, 0, 0}, nil, []int{3, 3, 3}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := workedExample()
			change(&r)
			tpot, ok := r.TPOT()
			wantAbsent(t, "tpot", tpot, ok)
		})
	}
}

func TestCountBelowTheChunksGivesNoTPOT(t *testing.T) {
	answer := func(chunks, completion int) Record {
		result := answerOf(t, Options{}, func(e *engine) bool {
			e.begin()
			for i := range chunks {
				e.at(time.Duration(i+1)*20*time.Millisecond, events(textChunk("a")))
			}
			e.at(time.Second, events(stopChunk, usageOf(completion), done))
			e.finish()
			return true
		})
		wantStatus(t, result.Record, StatusOK, "")
		return result.Record
	}
	r := answer(12, 3)
	tpot, ok := r.TPOT()
	wantAbsent(t, "tpot", tpot, ok)
	if !r.CountContradicted() || *r.TokensOut != 3 || r.TokensSource != fromUsage {
		t.Errorf("contradicted %t, %d tokens by %s", r.CountContradicted(), *r.TokensOut, r.TokensSource)
	}
	r = answer(12, 12)
	if tpot, ok = r.TPOT(); r.CountContradicted() {
		t.Error("a count of as many tokens as chunks is contradicted")
	}
	wantDuration(t, "tpot", 20*time.Millisecond, tpot, ok)
}

func TestChunkWithoutTokenContradictsNoCount(t *testing.T) {
	r := Record{TokensOut: new(2), TokensSource: fromUsage, ArrivalsNS: []int64{100 * ms, 60 * ms, 40 * ms}, ArrivalTokens: []int{1, 0, 1}, ReadIDs: []int{1, 2, 3}}
	if r.CountContradicted() {
		t.Error("contradicted by a chunk whose tokens the server gives as none")
	}
	tpot, ok := r.TPOT()
	wantDuration(t, "tpot", 100*time.Millisecond, tpot, ok)
}

func TestChunksOfOneReadAreOneArrival(t *testing.T) {
	r := Record{
		ArrivalsNS:    []int64{100, 0, 60, 0, 0, 30},
		ArrivalTokens: []int{1, 1, 1, 1, 1, 2},
		ReadIDs:       []int{1, 1, 2, 2, 2, 3},
	}
	if got, want := slices.Collect(r.ChunkGaps()), []time.Duration{60, 30}; !slices.Equal(got, want) {
		t.Errorf("chunk gaps = %v, want %v", got, want)
	}
	if got := r.SameReadChunks(); got != 3 {
		t.Errorf("same-read chunks = %d, want 3", got)
	}
	if got, want := itlPerToken(r), []time.Duration{20, 20, 20, 15, 15}; !slices.Equal(got, want) {
		t.Errorf("itl = %v, want %v", got, want)
	}
}

func TestGapBeforeAChunkWithoutNewTokenCountsTowardsTheNext(t *testing.T) {
	r := Record{ArrivalsNS: []int64{100, 30, 30, 7}, ArrivalTokens: []int{1, 0, 3, 0}, ReadIDs: []int{1, 2, 3, 4}}
	if got, want := itlPerToken(r), []time.Duration{20, 20, 20}; !slices.Equal(got, want) {
		t.Errorf("itl = %v, want %v", got, want)
	}
}
