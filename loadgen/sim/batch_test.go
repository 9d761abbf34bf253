package sim

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"time"
)

// small has 12 blocks of 16 tokens.
func small() Config {
	c := Default()
	c.MaxBatch, c.MaxModelTokens, c.KVCacheTokens, c.PrefillChunkTokens = 4, 100, 200, 16
	return c
}

func newTestBatch(t *testing.T, c Config) batch {
	t.Helper()
	tiers, err := c.tiers()
	if err != nil {
		t.Fatal(err)
	}
	return newBatch(c, tiers, func(*sequence, int) {})
}

// seq is a request of so many tokens that shares nothing with another.
func seq(promptTokens, answerTokens int) *sequence {
	return seqNamed(rand.Text(), promptTokens, answerTokens)
}

// seqNamed shares its prompt with all of the same name, as far as that reaches.
func seqNamed(name string, promptTokens, answerTokens int) *sequence {
	text := newTranscript(Default().KV.TokensPerBlock, name)
	for i := range promptTokens {
		text.id(uint32(i))
	}
	r := request{promptTokens: promptTokens, maxTokens: answerTokens, text: text}
	return newSequence(1, r, answer{ends: make([]int, answerTokens), reason: finishLength}, time.Time{})
}

// advance runs one step and returns what it took and brought.
func advance(b *batch) (prefill, decoding int, made outcome) {
	b.admit(time.Time{})
	next := b.plan(time.Time{})
	b.apply(&made, time.Time{})
	return next.prefillTokens, next.decoding, made
}

func TestPromptsAreReadInChunksWhileOthersDecode(t *testing.T) {
	b := newTestBatch(t, small())
	early := seq(16, 5)
	b.enqueue(early)
	late := seq(40, 1)
	b.enqueue(late)
	type row struct{ prefill, decoding, generated, promptsRead int }
	var got []row
	for range 5 {
		prefill, decoding, made := advance(&b)
		got = append(got, row{prefill, decoding, made.generated, made.promptTokens})
	}
	want := []row{
		{16, 0, 0, 16}, // the first prompt takes the whole chunk
		{16, 1, 1, 0},  // the second one's three chunks, while the first one decodes
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

func TestNoSequenceOvertakesTheHeadOfTheQueue(t *testing.T) {
	b := newTestBatch(t, small())
	b.enqueue(seq(90, 1))
	b.enqueue(seq(90, 1))
	large, little := seq(50, 50), seq(1, 1)
	b.enqueue(large) // 4 blocks; none of 12 is left
	b.enqueue(little)
	advance(&b)
	if !slices.Equal(b.waiting, []*sequence{large, little}) {
		t.Fatalf("%d wait, want the large one and the little one behind it", len(b.waiting))
	}
	if b.cache.held != 6+6 {
		t.Errorf("%d blocks held, want 12", b.cache.held)
	}
}

func TestOneThatLeavesDuringAStepGetsNothingMore(t *testing.T) {
	b := newTestBatch(t, small())
	stays, leaves := seq(1, 9), seq(1, 9)
	b.enqueue(stays)
	b.enqueue(leaves)
	advance(&b)
	b.plan(time.Time{})
	b.remove(leaves)
	b.enqueue(seq(1, 9)) // and one that comes during the step is not part of it
	var made outcome
	b.apply(&made, time.Time{})
	if made.generated != 1 || stays.generated.Load() != 1 || leaves.generated.Load() != 0 {
		t.Errorf("%d tokens, %d and %d", made.generated, stays.generated.Load(), leaves.generated.Load())
	}
}

// TestBlocksOfTheBatchAddUp runs random arrivals, steps and departures, and compares the held blocks with the
// sequences.
func TestBlocksOfTheBatchAddUp(t *testing.T) {
	for seed := range uint64(200) {
		random := mathrand.New(mathrand.NewPCG(seed, 1))
		c := small()
		b := newTestBatch(t, c)
		var made outcome
		for range 200 {
			switch random.IntN(4) {
			case 0:
				b.enqueue(seqNamed(string(rune('a'+random.IntN(3))), 1+random.IntN(50), 1+random.IntN(50)))
			case 1:
				if all := slices.Concat(b.running, b.waiting); len(all) > 0 {
					b.remove(all[random.IntN(len(all))])
				}
			default:
				b.admit(time.Time{})
				if next := b.plan(time.Time{}); next.prefillTokens > c.PrefillChunkTokens {
					t.Fatalf("seed %d: a step reads %d prompt tokens", seed, next.prefillTokens)
				}
				b.apply(&made, time.Time{})
			}
			checkBlocks(t, c, &b)
		}
		for len(b.running)+len(b.waiting) > 0 {
			advance(&b)
			checkBlocks(t, c, &b)
		}
		if b.cache.held != 0 {
			t.Fatalf("seed %d: %d blocks held when no sequence is left", seed, b.cache.held)
		}
	}
}

func checkBlocks(t *testing.T, c Config, b *batch) {
	t.Helper()
	leased := 0
	for _, s := range b.running {
		leased += len(s.lease.blocks)
		if len(s.lease.blocks)*c.KV.TokensPerBlock < s.goal || s.prefilled > s.goal || s.complete != s.prefilled/c.KV.TokensPerBlock {
			t.Fatalf("%d of %d tokens in %d blocks, %d of them complete", s.prefilled, s.goal, len(s.lease.blocks), s.complete)
		}
	}
	// Blocks that several hold are held once.
	if b.cache.held > leased || b.cache.room() < 0 || len(b.running) > c.MaxBatch {
		t.Fatalf("%d blocks held (leased %d), room for %d, %d run", b.cache.held, leased, b.cache.room(), len(b.running))
	}
}

func TestTheSequenceAdmittedLastIsPreemptedAndComputedAgain(t *testing.T) {
	b := newTestBatch(t, small()) // 12 blocks
	first, second := seq(64, 60), seq(64, 60)
	b.maxSequences = 2
	b.enqueue(first)
	b.enqueue(second)
	b.enqueue(seq(1, 1)) // waits, and has to go on waiting behind the one that gave way
	preempted, reads := 0, 0
	for len(b.running)+len(b.waiting) > 0 {
		_, _, made := advance(&b)
		preempted += made.preempted
		reads += made.promptTokens
		if len(b.running) == 1 && b.running[0] == second && !first.done() {
			t.Fatal("the first one in lost its place")
		}
		if made.preempted > 0 && (len(b.waiting) != 2 || b.waiting[0] != second) {
			t.Fatal("the one that gave way is not the next one to be let in")
		}
	}
	// Both are at 8 blocks after 64 tokens of answer; together that is more than 12.
	if preempted != 1 || reads != 129 {
		t.Errorf("%d lost their place, prompts of %d tokens were counted", preempted, reads)
	}
	if !first.done() || !second.done() || b.cache.held != 0 {
		t.Error("not all came to their end")
	}
}

func TestARequestBeginsAfterTheCachedPartOfItsPrompt(t *testing.T) {
	b := newTestBatch(t, small())
	b.enqueue(seqNamed("a", 48, 1))
	for len(b.running)+len(b.waiting) > 0 {
		advance(&b)
	}
	again := seqNamed("a", 48, 1)
	b.enqueue(again)
	// The third block is full too, but the last token of a prompt is always computed.
	if prefill, _, _ := advance(&b); prefill != 16 || again.hits.Device != 2 {
		t.Errorf("%d tokens read, %+v", prefill, again.hits)
	}
	longer := seqNamed("a", 70, 1)
	b.enqueue(longer)
	advance(&b)
	if longer.hits.Device != 3 {
		t.Errorf("a longer prompt found %+v", longer.hits)
	}
}

func TestBlocksThatAreBroughtBackTakeTheirTime(t *testing.T) {
	now := time.Unix(1000, 0)
	o := onboarding{
		host: transfer{link: Link{BytesPerSecond: 1000}}, disk: transfer{link: Link{BytesPerSecond: 100, Latency: 5 * time.Millisecond}}, blockBytes: 10,
	}
	for _, row := range []struct {
		hits cacheHits
		want time.Duration
	}{
		{cacheHits{Device: 9}, 0},
		{cacheHits{Host: 2}, 20 * time.Millisecond},
		{cacheHits{Disk: 1}, 105 * time.Millisecond},
		{cacheHits{Host: 1, Disk: 1}, 205 * time.Millisecond}, // behind the one before
	} {
		if got := o.ready(now, row.hits).Sub(now); got != row.want {
			t.Errorf("%+v: ready after %v, want %v", row.hits, got, row.want)
		}
	}
	if got := o.ready(now.Add(time.Second), cacheHits{Disk: 1}).Sub(now); got != 1105*time.Millisecond {
		t.Errorf("when the way is free again: %v", got)
	}
}
