package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

func fingerprintOf(t *testing.T, server *picky) fingerprint {
	t.Helper()
	s := httptest.NewServer(server)
	defer s.Close()
	return proberOf(t, s.URL, "openai").fingerprint(t.Context(), s.URL, Model{ID: "m"})
}

func TestAModelIsKnownAgainByItsTokens(t *testing.T) {
	first, again := fingerprintOf(t, &picky{}), fingerprintOf(t, &picky{})
	if first.id() == "" || first.id() != again.id() || first.changed(again) != "" || !first.comparable(again) || first.drift(again) != "" {
		t.Errorf("%+v and %+v", first, again)
	}
	other := fingerprintOf(t, &picky{tokens: func(prompt string) int { return len(strings.Fields(prompt)) }})
	if other.id() == first.id() || !strings.Contains(first.changed(other), "tokens of fixed prompts") {
		t.Errorf("%s: %q", other.id(), first.changed(other))
	}
}

// observed is a fingerprint of which nothing is missing.
func observed(answer string) fingerprint {
	return fingerprint{answer: answer, Fingerprint: rundir.Fingerprint{
		ProbeTokens: []int{1, 2}, MaxTokens: 8192, LoadedFrom: "/m", AnswerSHA256: "a", Weights: &rundir.Weights{ConfigSHA256: "c", Bytes: 1, Files: 1},
	}}
}

func TestWhatWasNotObservedAtBothEndsShowsNoChange(t *testing.T) {
	full := observed("")
	for name, empty := range map[string]fingerprint{"start": {}, "end": full} {
		other := full
		if name == "end" {
			other = fingerprint{}
		}
		if empty.changed(other) != "" || empty.comparable(other) || empty.drift(other) != "" {
			t.Errorf("%s missing: %q", name, empty.changed(other))
		}
	}
}

func TestEveryPartOfAFingerprintThatDecidesShowsAChange(t *testing.T) {
	whole := func() fingerprint { return observed("one two") }
	for name, change := range map[string]func(*fingerprint){
		"token counts":  func(f *fingerprint) { f.ProbeTokens = []int{1, 3} },
		"context":       func(f *fingerprint) { f.MaxTokens = 4096 },
		"folder":        func(f *fingerprint) { f.LoadedFrom = "/n" },
		"configuration": func(f *fingerprint) { f.Weights.ConfigSHA256 = "d" },
		"weights":       func(f *fingerprint) { f.Weights.Bytes = 2 },
	} {
		end := whole()
		change(&end)
		if whole().changed(end) == "" {
			t.Errorf("%s: nothing", name)
		}
	}
	end := whole()
	end.AnswerSHA256, end.answer = "b", "one six"
	if whole().changed(end) != "" || !strings.Contains(whole().drift(end), "after the first 4 of 7 characters") {
		t.Errorf("another greedy answer: %q, %q", whole().changed(end), whole().drift(end))
	}
}

// TestReplicasMayDifferInWhereTheModelIsAndInItsLimit, and in nothing that makes it another model.
func TestReplicasMayDifferInWhereTheModelIsAndInItsLimit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fingerprint)
		unlike bool
	}{
		"nothing":       {func(*fingerprint) {}, false},
		"folder":        {func(f *fingerprint) { f.LoadedFrom = "/n" }, false},
		"limit":         {func(f *fingerprint) { f.MaxTokens = 4096 }, false},
		"greedy answer": {func(f *fingerprint) { f.AnswerSHA256 = "b" }, false},
		"unobserved":    {func(f *fingerprint) { *f = fingerprint{} }, false},
		"token counts":  {func(f *fingerprint) { f.ProbeTokens = []int{1, 3} }, true},
		"configuration": {func(f *fingerprint) { f.Weights.ConfigSHA256 = "d" }, true},
		"weights":       {func(f *fingerprint) { f.Weights.Bytes = 2 }, true},
	} {
		first, other := observed(""), observed("")
		c.change(&other)
		if why := first.unlike(other); (why != "") != c.unlike {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// What answers without a usage still answers: its greedy answer is kept, and no count is made up.
func TestAServerThatCountsNoPromptsStillHasAGreedyAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"model":"m","choices":[{"message":{"content":"yes"},"finish_reason":"stop"}]}`)
	}))
	defer s.Close()
	f := proberOf(t, s.URL, "openai").fingerprint(t.Context(), s.URL, Model{ID: "m"})
	if f.answer != "yes" || f.AnswerSHA256 != sha256Hex([]byte("yes")) || f.ProbeTokens != nil || f.id() != "" || f.comparable(f) {
		t.Errorf("%+v", f)
	}
	if !slices.Contains(f.Missing, "token counts: "+errNoCount.Error()) {
		t.Errorf("missing %q", f.Missing)
	}
}

// A stream has its usage in an event that some servers leave out: probes ask for whole answers.
func TestAFingerprintIsAskedForInOnePieceAndGreedily(t *testing.T) {
	p := &picky{}
	fingerprintOf(t, p)
	if want := len(fingerprintTexts()) + 1; len(p.taken) != want {
		t.Fatalf("%d requests, want %d", len(p.taken), want)
	}
	for _, fields := range p.taken {
		if fields["stream"] == true || fields["temperature"] != 0. {
			t.Errorf("%v", fields)
		}
	}
}

func TestAServerThatDoesNotAnswerIsNotAskedTheRest(t *testing.T) {
	p := &picky{status: 500}
	f := fingerprintOf(t, p)
	if len(f.Missing) != 2 || !strings.HasPrefix(f.Missing[0], "token counts: HTTP 500") || !strings.HasPrefix(f.Missing[1], missingWeights) || f.id() != "" {
		t.Errorf("%q", f.Missing)
	}
}

func TestCommonPrefixesAreCountedInCharacters(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"äö", "äü", 1}, {"ab", "ab", 2}, {"ab", "abc", 2}, {"x", "y", 0}} {
		if got := commonPrefix(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d", c.a, c.b, got)
		}
	}
}
