package sim

import (
	"math"
	"strings"
	"testing"
)

func ask(prompt string, maxTokens int) request {
	return request{prompt: prompt, promptTokens: countTokens(prompt), maxTokens: maxTokens, topP: 1}
}

func TestAnswersDependOnSeedAndRequestAlone(t *testing.T) {
	c := Default()
	first := write(c, ask("hello", 100))
	if again := write(c, ask("hello", 100)); again.text != first.text {
		t.Error("the same request got another answer")
	}
	if other := write(c, ask("hello!", 100)); other.text == first.text {
		t.Error("another prompt got the same answer")
	}
	c.Seed++
	if other := write(c, ask("hello", 100)); other.text == first.text {
		t.Error("another engine seed gave the same answer")
	}
}

func TestRequestSeedCountsOnlyAboveTemperatureZero(t *testing.T) {
	greedy, warm := ask("hello", 50), ask("hello", 50)
	warm.temperature = 0.7
	seededGreedy, seededWarm := greedy, warm
	seededGreedy.seed, seededWarm.seed = 7, 7
	c := Default()
	if write(c, greedy).text != write(c, seededGreedy).text {
		t.Error("at temperature 0 the seed changed the answer")
	}
	if write(c, warm).text == write(c, seededWarm).text {
		t.Error("above temperature 0 the seed changed nothing")
	}
	if write(c, warm).text == write(c, greedy).text {
		t.Error("the temperature changed nothing")
	}
}

func TestALowerCapGivesTheBeginning(t *testing.T) {
	c := Default()
	long, short := ask("hello", 200), ask("hello", 20)
	long.ignoreEOS, short.ignoreEOS = true, true
	l, s := write(c, long), write(c, short)
	if !strings.HasPrefix(l.text, s.text) || s.tokens() != 20 || l.tokens() != 200 || s.reason != finishLength {
		t.Errorf("%d tokens (%s) %q are not the beginning of %d tokens %q", s.tokens(), s.reason, s.text, l.tokens(), l.text)
	}
}

func TestAnAnswerEndsByItselfUnlessIgnoreEOSIsSet(t *testing.T) {
	c := Default()
	c.MeanAnswerTokens = 10
	ended := write(c, ask("hello", 1000))
	if ended.reason != finishStop || ended.tokens() >= 1000 {
		t.Fatalf("%d tokens, %s", ended.tokens(), ended.reason)
	}
	if got := countTokens(ended.text); got != ended.tokens()-1 {
		t.Errorf("%d tokens of text in %d: all but the ending one have text", got, ended.tokens())
	}
	forced := ask("hello", 1000)
	forced.ignoreEOS = true
	if got := write(c, forced); got.reason != finishLength || got.tokens() != 1000 || !strings.HasPrefix(got.text, ended.text) {
		t.Errorf("ignore_eos: %d tokens, %s", got.tokens(), got.reason)
	}
	patient := ask("hello", 1000)
	patient.minTokens = ended.tokens() + 5
	if got := write(c, patient); got.tokens() <= patient.minTokens || got.reason != finishStop {
		t.Errorf("min_tokens %d: %d tokens, %s", patient.minTokens, got.tokens(), got.reason)
	}
}

func TestMeanAnswerLengthIsAsConfigured(t *testing.T) {
	c := Default()
	c.MeanAnswerTokens = 50
	const answers = 2000
	sum := 0
	for i := range answers {
		sum += write(c, ask(strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y ", i/7), 5000)).tokens()
	}
	// The standard error of the mean of a geometric distribution is its mean / sqrt(n): 1.1.
	if mean := float64(sum) / answers; math.Abs(mean-50) > 5 {
		t.Errorf("mean length %.1f, configured as 50", mean)
	}
}

// AIPerf and vLLM's multi-turn client call an answer without text an error.
func TestNoAnswerIsWithoutText(t *testing.T) {
	c := Default()
	c.MeanAnswerTokens = 1
	for i := range 100 {
		if a := write(c, ask("hello "+string(rune('a'+i)), 10)); a.text == "" || a.tokens() < 2 || a.reason != finishStop {
			t.Fatalf("%d tokens, %q, %s", a.tokens(), a.text, a.reason)
		}
	}
}

func TestStopStringsEndTheTextBeforeThem(t *testing.T) {
	c := Default()
	free := ask("hello", 400)
	free.ignoreEOS = true
	whole := write(c, free).text
	for _, stops := range [][]string{{"."}, {" the"}, {" the", "."}, {whole[40:60]}, {whole[:3]}} {
		r := free
		r.stop = stops
		got := write(c, r)
		first := len(whole)
		for _, stop := range stops {
			if at := strings.Index(whole, stop); at >= 0 {
				first = min(first, at)
			}
		}
		if got.text != whole[:first] || got.reason != finishStop {
			t.Errorf("stop %q: %q (%s), want %q", stops, got.text, got.reason, whole[:first])
		}
		if n := got.tokens(); got.between(0, n) != got.text || got.ends[n-1] != first {
			t.Errorf("stop %q: tokens do not make up the text", stops)
		}
	}
}

func TestStopStringsBeforeMinTokensDoNotCount(t *testing.T) {
	c := Default()
	free := ask("hello", 400)
	free.ignoreEOS = true
	r := free
	r.stop, r.minTokens = []string{"."}, 100
	got := write(c, r)
	want := write(c, free)
	past := want.ends[99]
	if at := past + strings.Index(want.text[past:], "."); got.text != want.text[:at] {
		t.Errorf("stopped after %d bytes, want %d", len(got.text), at)
	}
}
