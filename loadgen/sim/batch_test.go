package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func small() Config {
	c := Default()
	c.MaxBatch, c.MaxModelTokens, c.KVCacheTokens, c.PrefillChunkTokens = 4, 100, 200, 16
	return c
}

func seq(promptTokens, answerTokens int) *sequence {
	r := request{promptTokens: promptTokens, maxTokens: answerTokens}
	return newSequence(r, answer{ends: make([]int, answerTokens), reason: finishLength}, time.Time{})
}

// step runs one step and returns what it took and brought.
func step(b *batch) (prefill, decoding int, made outcome) {
	b.admit(time.Time{})
	prefill, decoding = b.plan()
	b.apply(&made, time.Time{})
	return prefill, decoding, made
}

func TestPromptsAreReadInChunksWhileOthersDecode(t *testing.T) {
	b := newBatch(small())
	early := seq(16, 5)
	b.enqueue(early)
	late := seq(40, 1)
	b.enqueue(late)
	type row struct{ prefill, decoding, generated, promptsRead int }
	var got []row
	for range 5 {
		prefill, decoding, made := step(&b)
		got = append(got, row{prefill, decoding, made.generated, made.promptTokens})
	}
	want := []row{
		{16, 0, 0, 16}, // the first prompt takes the whole chunk
		{16, 1, 1, 0},  // the second one's three chunks, the first one decoding beside them
		{16, 1, 1, 0},
		{8, 1, 1, 40},
		{0, 2, 2, 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
	if !late.done() || early.done() {
		t.Error("the wrong sequence is done")
	}
}

func TestThePlaceAfterTheLastWaitsForOneToEnd(t *testing.T) {
	b := newBatch(small())
	all := []*sequence{seq(1, 3), seq(1, 3), seq(1, 3), seq(1, 3), seq(1, 1)}
	for _, s := range all {
		b.enqueue(s)
	}
	for i := range 4 { // one of prefill, three of decode
		step(&b)
		if want := 1; len(b.waiting) != want {
			t.Fatalf("step %d: %d wait, want %d", i, len(b.waiting), want)
		}
	}
	step(&b)
	if len(b.waiting) != 0 || !slices.Equal(b.running, all[4:]) {
		t.Errorf("%d wait, %d run", len(b.waiting), len(b.running))
	}
}

func TestNobodyOvertakesTheHeadOfTheQueue(t *testing.T) {
	b := newBatch(small())
	b.enqueue(seq(50, 50))
	b.enqueue(seq(10, 41))
	large, little := seq(10, 50), seq(1, 1)
	b.enqueue(large) // 60 tokens of KV, 49 are left
	b.enqueue(little)
	step(&b)
	if !slices.Equal(b.waiting, []*sequence{large, little}) {
		t.Fatalf("%d wait, want the large one and the little one behind it", len(b.waiting))
	}
	if b.reserved != 151 {
		t.Errorf("%d tokens reserved, want 151", b.reserved)
	}
}

func TestLeavingFreesPlaceAndKV(t *testing.T) {
	b := newBatch(small())
	running, waiting := seq(10, 90), seq(20, 5)
	b.enqueue(running)
	step(&b)
	step(&b)
	if b.held != 11 || b.reserved != 100 {
		t.Fatalf("holds %d, reserved %d", b.held, b.reserved)
	}
	b.enqueue(waiting)
	if !b.remove(running) || !b.remove(waiting) || b.remove(running) {
		t.Error("remove does not say who was there")
	}
	if b.held != 0 || b.reserved != 0 || len(b.running)+len(b.waiting) != 0 {
		t.Errorf("holds %d, reserved %d, %d run, %d wait", b.held, b.reserved, len(b.running), len(b.waiting))
	}
}

func TestOneThatLeavesDuringAStepGetsNothingMore(t *testing.T) {
	b := newBatch(small())
	stays, leaves := seq(1, 9), seq(1, 9)
	b.enqueue(stays)
	b.enqueue(leaves)
	step(&b)
	b.plan()
	b.remove(leaves)
	b.enqueue(seq(1, 9)) // and one that comes during the step is not part of it
	var made outcome
	b.apply(&made, time.Time{})
	if made.generated != 1 || stays.generated.Load() != 1 || leaves.generated.Load() != 0 {
		t.Errorf("%d tokens, %d and %d", made.generated, stays.generated.Load(), leaves.generated.Load())
	}
}

// TestTheBooksBalance runs random arrivals, steps and departures and holds the running totals
// against the sums that they stand for.
func TestTheBooksBalance(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := small()
		b := newBatch(c)
		var made outcome
		for range 200 {
			switch random.IntN(4) {
			case 0:
				b.enqueue(seq(1+random.IntN(50), 1+random.IntN(50)))
			case 1:
				if all := slices.Concat(b.running, b.waiting); len(all) > 0 {
					b.remove(all[random.IntN(len(all))])
				}
			default:
				b.admit(time.Time{})
				if prefill, _ := b.plan(); prefill > c.PrefillChunkTokens {
					t.Fatalf("seed %d: a step reads %d prompt tokens", seed, prefill)
				}
				b.apply(&made, time.Time{})
			}
			checkBooks(t, c, b)
		}
		for len(b.running)+len(b.waiting) > 0 {
			step(&b)
		}
		checkBooks(t, c, b)
	}
}

func checkBooks(t *testing.T, c Config, b batch) {
	t.Helper()
	held, reserved := 0, 0
	for _, s := range b.running {
		held += s.kvTokens()
		reserved += s.reserve
	}
	if held != b.held || reserved != b.reserved || held > reserved || reserved > c.KVCacheTokens || len(b.running) > c.MaxBatch {
		t.Fatalf("held %d (sum %d), reserved %d (sum %d) of %d, %d run", b.held, held, b.reserved, reserved, c.KVCacheTokens, len(b.running))
	}
}
