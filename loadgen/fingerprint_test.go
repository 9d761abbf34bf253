package loadgen

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/sim"
)

func fingerprintOf(t *testing.T, server *picky) fingerprint {
	t.Helper()
	s := httptest.NewServer(server)
	defer s.Close()
	return proberOf(t, s.URL, "openai").fingerprint(t.Context(), s.URL, model{ID: "m"})
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

func TestWhatWasNotObservedAtBothEndsShowsNoChange(t *testing.T) {
	full := fingerprint{ProbeTokens: []int{1, 2}, MaxTokens: 8192, LoadedFrom: "/m", AnswerSHA256: "a", Weights: &weights{ConfigSHA256: "c", Bytes: 1, Files: 1}}
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
	whole := func() fingerprint {
		return fingerprint{ProbeTokens: []int{1, 2}, MaxTokens: 8192, LoadedFrom: "/m", AnswerSHA256: "a", Weights: &weights{ConfigSHA256: "c", Bytes: 1, Files: 1}, answer: "one two"}
	}
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

func TestAnotherModelUnderTheSameNameMakesTheRunInvalid(t *testing.T) {
	var prompts atomic.Int64
	p := &picky{tokens: func(prompt string) int {
		// The fourth fixed text is the first one after the run; the greedy answer has the first's.
		if slices.Contains(fingerprintTexts()[1:], prompt) && prompts.Add(1) > int64(len(fingerprintTexts())-1) {
			return 1
		}
		return len(prompt)
	}}
	code, folder, stderr := p.run(t)
	if code != exitInvalid || !strings.Contains(stderr, "model_changed") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	m := read[manifest](t, filepath.Join(folder, fileManifest)).Server
	if m.FingerprintStart == nil || m.FingerprintEnd == nil || slices.Equal(m.FingerprintStart.ProbeTokens, m.FingerprintEnd.ProbeTokens) {
		t.Errorf("manifest: %+v, %+v", m.FingerprintStart, m.FingerprintEnd)
	}
}

func TestDriftOfTheGreedyAnswerIsOnlyAWarning(t *testing.T) {
	_, url := simulated(t, func(c *sim.Config) { c.Faults.Drift = sim.Drift{Ratio: 1, Alone: true} })
	code, folder, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=3", "--warmup=0", "--output-tokens=8")
	s := read[report.Summary](t, filepath.Join(folder, fileSummary))
	if code != exitDone || !strings.Contains(strings.Join(s.Warnings, "\n"), "not bitwise deterministic") || !slices.Contains(s.Checked, "fingerprint") {
		t.Errorf("exit %d: %s%v", code, stderr, s.Warnings)
	}
}

func TestAServerThatCountsNothingHasNoFingerprintAndTheRunGoesOn(t *testing.T) {
	p := &picky{tokens: func(string) int { return 0 }} // no prompt has none: that is no count
	code, folder, stderr := p.run(t)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	s := read[report.Summary](t, filepath.Join(folder, fileSummary))
	if s.Model.Fingerprint != "" || slices.Contains(s.Checked, "fingerprint") || !strings.Contains(strings.Join(s.Warnings, "\n"), "fingerprint is not complete: token counts") {
		t.Errorf("fingerprint %q, checked %v, warnings %v", s.Model.Fingerprint, s.Checked, s.Warnings)
	}
}

func TestAServerThatDoesNotAnswerIsNotAskedTheRest(t *testing.T) {
	p := &picky{status: 500}
	f := fingerprintOf(t, p)
	if len(f.Missing) != 2 || !strings.HasPrefix(f.Missing[0], "token counts: HTTP 500") || !strings.HasPrefix(f.Missing[1], missingWeights) || f.id() != "" {
		t.Errorf("%q", f.Missing)
	}
}

// modelFolder is a folder of weights of so many bytes.
func modelFolder(t *testing.T, sizes map[string]int) string {
	t.Helper()
	folder := t.TempDir()
	for name, size := range sizes {
		if err := os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestWeightsAreMeasuredWhereTheProcessOfALocalServerHasThem(t *testing.T) {
	server := httptest.NewServer(&picky{}) // its process is this one
	defer server.Close()
	folder := modelFolder(t, map[string]int{"config.json": 100, "a.safetensors": 1000, "b.safetensors": 24, "tokenizer.json": 7})
	if err := os.Symlink("a.safetensors", filepath.Join(folder, "linked.safetensors")); err != nil {
		t.Fatal(err)
	}
	got, err := weightsBehind(server.URL, folder)
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes != 2024 || got.Files != 3 || got.ConfigSHA256 != hexSHA256(make([]byte, 100)) {
		t.Errorf("%+v", got)
	}
	f := fingerprint{Endpoint: chat.Chat, ProbeTokens: []int{1}, Weights: &got}
	if id := f.id(); !strings.HasPrefix(id, "chat-") || !strings.HasSuffix(id, "+weights-2024") {
		t.Errorf("id %q", id)
	}
}

func TestWeightsThatCannotBeSeenAreMissingAndNoError(t *testing.T) {
	server := httptest.NewServer(&picky{})
	defer server.Close()
	pipe := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(pipe, "config.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := httptest.NewServer(&picky{})
	closed.Close()
	for name, c := range map[string]struct{ url, folder, says string }{
		"another machine":    {"http://192.0.2.1:8000", "/m", "loopback"},
		"a name":             {"http://spark1:8000", "/m", "loopback"},
		"no folder":          {server.URL, "meta-llama/Llama-3.1-8B", "names no folder"},
		"nobody listens":     {closed.URL, "/m", "nobody is seen"},
		"folder is not here": {server.URL, "/no/such/model", "config.json"},
		"no configuration":   {server.URL, t.TempDir(), "config.json"},
		"a pipe":             {server.URL, pipe, "config.json"},
		"too large":          {server.URL, modelFolder(t, map[string]int{"config.json": longestConfig + 1}), "config.json"},
	} {
		if _, err := weightsBehind(c.url, c.folder); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
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
