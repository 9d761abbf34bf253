package summary

import (
	"math"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// prefillOf judges these requests, all of them measured.
func prefillOf(records ...openai.Record) *Prefill {
	var p phaseAggregates
	for _, r := range records {
		p.addSteps(r, true)
	}
	return p.prefill()
}

// paced is a request sent at a time, with its first token after another, and so many tokens after it, each in the time
// that a function of their moments gives. All are milliseconds.
func paced(sent, first int64, tokens int, step func(at int64) int64) openai.Record {
	chunks := []int64{first}
	for range tokens {
		last := chunks[len(chunks)-1]
		chunks = append(chunks, last+step(sent+last))
	}
	return testrun.Answered(0, sent, chunks...)
}

func within(a, b float64) bool { return math.Abs(a-b) < 0.005*b }

// TestPromptsCostWhatTokensTakeLongerThen: two sequences decode a token in 10 ms, and in 40 ms while a third prompt is read
// from 2000 to 4000 ms.
func TestPromptsCostWhatTokensTakeLongerThen(t *testing.T) {
	step := func(at int64) int64 {
		if at >= 2000 && at < 4000 {
			return 40
		}
		return 10
	}
	a, b := paced(0, 10, 249, step), paced(0, 10, 249, step) // to 4000 ms
	got := prefillOf(a, b, paced(2000, 2000, 0, step))
	// 199 tokens take 1,990 ms and 50 take 2,000: of 3,990 ms, 2,000 have a prompt, and 50 tokens 1,500 ms too long.
	if got == nil || got.Lost == nil || !within(got.Share, 2000.0/3990) || !within(*got.Lost, 1500.0/3990) {
		t.Fatalf("%+v", got)
	}
	if w := got.Without; w == nil || !within(w.TokensPerSecond, 200) || !within(w.Concurrency, 2) {
		t.Errorf("%+v", got.Without)
	}
}

func TestRequestsThatWaitCostNothing(t *testing.T) {
	same := func(int64) int64 { return 10 }
	got := prefillOf(paced(0, 10, 400, same), paced(0, 10, 400, same), paced(1000, 2500, 100, same))
	if got == nil || got.Lost == nil || got.Share < 0.3 || *got.Lost != 0 {
		t.Errorf("%+v", got)
	}
}

// TestMoreSequencesAreNotTakenForPrompts: steps of a sequence alone are short, and no prompt is read then. Those of three
// are long, while a fourth waits.
func TestMoreSequencesAreNotTakenForPrompts(t *testing.T) {
	alone := paced(0, 10, 200, func(int64) int64 { return 5 })
	three := func(int64) int64 { return 20 }
	records := []openai.Record{alone}
	for range 3 {
		records = append(records, paced(2000, 10, 200, three))
	}
	records = append(records, paced(2100, 3900, 10, three)) // to the end
	got := prefillOf(records...)
	if got == nil || got.Share < 0.5 || got.Lost != nil {
		t.Errorf("compared with a sequence alone: %+v", got)
	}
	for range 3 {
		records = append(records, paced(9000, 10, 100, three)) // no prompt is read
	}
	if got = prefillOf(records...); got == nil || got.Lost == nil || *got.Lost > 0.01 {
		t.Errorf("compared with three: %+v", got)
	}
}

// TestAPromptThatIsGivenUpWasRead: a request that is cancelled before its first token, at the end of a run, is no time without
// a prompt.
func TestAPromptThatIsGivenUpWasRead(t *testing.T) {
	step := func(at int64) int64 {
		if at >= 2000 {
			return 40
		}
		return 10
	}
	cancelled := testrun.Failed(1, 2000, openai.StatusCancelled)
	cancelled.EndNS, cancelled.BrokenOffNS = nil, new(int64(4000e6))
	got := prefillOf(paced(0, 10, 249, step), cancelled)
	if got == nil || got.Lost == nil || !within(*got.Lost, 1500.0/3990) {
		t.Errorf("%+v", got)
	}
	refused := testrun.Failed(1, 2000, openai.StatusHTTP)
	refused.EndNS = new(int64(4000e6))
	if got = prefillOf(paced(0, 10, 249, step), refused); got == nil || got.Share != 0 {
		t.Errorf("a refusal counts as a prompt: %+v", got)
	}
}

func TestWithoutArrivalsNothingIsJudged(t *testing.T) {
	if got := prefillOf(testrun.Failed(0, 10, openai.StatusHTTP), testrun.Answered(1, 10, 20)); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestALongRunIsJudgedBySomeOfItsAnswers: the figures of a run of more arrivals than are kept are those of a short one.
func TestALongRunIsJudgedBySomeOfItsAnswers(t *testing.T) {
	const each = 1 << 14
	var p phaseAggregates
	for i := range int64(3 * mostArrivals / each) {
		sent := i * 200_000
		slow := func(at int64) int64 {
			if at >= sent+50_000 && at < sent+60_000 {
				return 40
			}
			return 10
		}
		p.addSteps(paced(sent, 10, each, slow), true)
		p.addSteps(paced(sent+50_000, 10_000, 0, slow), true)
	}
	if p.streams.arrivals > mostArrivals || p.streams.every < 4 || len(p.streams.kept) < 16 {
		t.Errorf("%d arrivals of %d answers, every %d", p.streams.arrivals, len(p.streams.kept), p.streams.every)
	}
	// 250 tokens take 10 s, and the others 161,340 ms.
	if got := p.prefill(); got == nil || got.Lost == nil || !within(got.Share, 10_000.0/171_340) || !within(*got.Lost, 7500.0/171_340) {
		t.Errorf("%+v", got)
	}
}

// TestDecodingWithoutPromptsHasALimitOfItsOwn: fewer sequences decode while prompts are read, so that the limit of all time is
// another.
func TestDecodingWithoutPromptsHasALimitOfItsOwn(t *testing.T) {
	before := Summary{Decode: &Decode{TokensPerSecond: 5, Concurrency: 3, Context: 1000, Prefill: &Prefill{Without: &Undisturbed{TokensPerSecond: 20, Concurrency: 4}}}}
	after := before.WithLimit(&roofline.Model{WeightsBytes: 10e9, KVBytesPerToken: 100e3}, 100e9)
	// A step of four sequences reads 10.4 GB, which takes 0.104 s: 38.46 tokens per second.
	if share := after.Decode.Prefill.Without.Share; share == nil || !share.Exact() || !within(share.Low, 20/38.46) {
		t.Errorf("%v", share)
	}
	if before.Decode.Prefill.Without.Share != nil {
		t.Error("the summary itself has changed")
	}
	if unknown := after.WithLimit(&roofline.Model{KVBytesPerToken: 1}, 0); unknown.Decode.Limit != nil || unknown.Decode.Prefill.Without.Share != nil {
		t.Errorf("a share of a limit that is not known: %+v", unknown.Decode.Prefill.Without)
	}
}
