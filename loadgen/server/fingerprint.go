package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// fingerprintTexts are sent at both ends of a run. Tokenizers and chat templates differ in how many tokens they make
// of prose, of code and of other scripts. The texts never change, since fingerprints of different runs are compared.
func fingerprintTexts() []string {
	return []string{
		"In 1969 the quick brown fox jumped over 13 lazy dogs, unquestionably.",
		"for (int i = 0; i < n; ++i) { total += values[i] * 0x1f; } // O(n)",
		"Größe, naïveté, Ελλάδα, Москва, 東京タワー, مرحبا, 🦊🦊.",
	}
}

// fingerprintAnswer is how many tokens of a greedy answer are hashed.
const fingerprintAnswer = 16

// missingWeights is the prefix of the missing part of most servers.
const missingWeights = "weights: "

// fingerprint is a fingerprint with the answer itself; its record has only a hash of it.
type fingerprint struct {
	rundir.Fingerprint
	answer string
}

// fingerprint takes the fingerprint of a model, one probe after the other. A failed probe is recorded as missing and
// is no error. If a server does not answer, the remaining probes are skipped.
func (p *prober) fingerprint(ctx context.Context, url string, m Model) fingerprint {
	f := fingerprint{Fingerprint: rundir.Fingerprint{Endpoint: string(p.base.Endpoint), MaxTokens: m.MaxTokens, LoadedFrom: printable(m.Root)}}
	err := p.countProbes(ctx, &f)
	if err != nil {
		f.Missing = append(f.Missing, "token counts: "+err.Error())
	}
	if err == nil || errors.Is(err, errNoCount) {
		if err := p.answerOnce(ctx, &f); err != nil {
			f.Missing = append(f.Missing, "greedy answer: "+err.Error())
		}
	}
	found, shape, err := weightsBehind(url, m.Root)
	f.Shape = shape
	if err != nil {
		f.Missing = append(f.Missing, missingWeights+err.Error())
	} else {
		f.Weights = &found
	}
	return f
}

// errNoCount is the error for an answer that does not report the length of its prompt.
var errNoCount = errors.New("the server does not count prompt tokens")

func (p *prober) countProbes(ctx context.Context, f *fingerprint) error {
	var counts []int
	for _, text := range fingerprintTexts() {
		result, err := p.whole(ctx, text, 1)
		switch {
		case err != nil:
			return err
		case result.Record.TokensIn == nil:
			return errNoCount
		}
		counts = append(counts, *result.Record.TokensIn)
	}
	f.ProbeTokens = counts
	return nil
}

func (p *prober) answerOnce(ctx context.Context, f *fingerprint) error {
	result, err := p.whole(ctx, fingerprintTexts()[0], fingerprintAnswer)
	if err != nil {
		return err
	}
	f.answer, f.AnswerSHA256 = result.Output, sha256Hex([]byte(result.Output))
	return nil
}

// whole requests a greedy answer without streaming.
func (p *prober) whole(ctx context.Context, text string, tokens int) (openai.Result, error) {
	params := p.base
	params.Prompt, params.MaxTokens, params.Stream = text, tokens, false
	params.Temperature, params.TopP = 0, 1 // greedy, whatever the run asks for
	return p.send(ctx, params)
}

// id returns the name of a model in summaries. Its parts are compared one by one, such as
//
//	chat-8f14e45fceea+config-c9f0f895fb98+weights-16060522496
//
// The first part is a hash of the token counts. A part that was not observable is absent. The name is empty if no part
// was observable.
func (f fingerprint) id() string {
	var parts []string
	if f.ProbeTokens != nil {
		parts = append(parts, f.Endpoint+"-"+short(sha256Hex(fmt.Append(nil, f.ProbeTokens))))
	}
	if f.Weights != nil {
		parts = append(parts, "config-"+short(f.Weights.ConfigSHA256), fmt.Sprintf("weights-%d", f.Weights.Bytes))
	}
	return strings.Join(parts, "+")
}

func sha256Hex(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// short returns the part of a hash that people compare.
func short(hash string) string { return hash[:min(len(hash), hex.EncodedLen(6))] }

// comparable reports whether both have the parts that decide.
func (f fingerprint) comparable(end fingerprint) bool {
	return f.ProbeTokens != nil && end.ProbeTokens != nil
}

// changed returns what shows that the model at the end is another one, or "". Parts that were not observed at both
// ends are ignored.
func (f fingerprint) changed(end fingerprint) string {
	var differences []string
	note := func(what string, before, after any) {
		differences = append(differences, fmt.Sprintf("%s were %v and are %v", what, before, after))
	}
	if f.comparable(end) && !slices.Equal(f.ProbeTokens, end.ProbeTokens) {
		note("the tokens of fixed prompts", f.ProbeTokens, end.ProbeTokens)
	}
	if f.MaxTokens != end.MaxTokens && f.MaxTokens > 0 && end.MaxTokens > 0 {
		note("the most tokens of a request", f.MaxTokens, end.MaxTokens)
	}
	if f.LoadedFrom != end.LoadedFrom && f.LoadedFrom != "" && end.LoadedFrom != "" {
		differences = append(differences, fmt.Sprintf("it was loaded from %q and is from %q", f.LoadedFrom, end.LoadedFrom))
	}
	if f.Weights != nil && end.Weights != nil && !f.Weights.Same(*end.Weights) {
		differences = append(differences, "configuration or weights on disk are others")
	}
	return strings.Join(differences, "; ")
}

// unlike returns what shows that two servers have different models, or "". Replicas of one model may be loaded from
// different folders, with different limits of tokens.
func (f fingerprint) unlike(other fingerprint) string {
	switch {
	case f.comparable(other) && !slices.Equal(f.ProbeTokens, other.ProbeTokens):
		return fmt.Sprintf("fixed prompts have %v tokens and %v", f.ProbeTokens, other.ProbeTokens)
	case f.Weights != nil && other.Weights != nil && !f.Weights.Same(*other.Weights):
		return "configuration or weights on disk differ"
	}
	return ""
}

// drift returns a message if only the greedy answers differ, else "".
func (f fingerprint) drift(end fingerprint) string {
	if f.AnswerSHA256 == "" || end.AnswerSHA256 == "" || f.AnswerSHA256 == end.AnswerSHA256 || f.changed(end) != "" {
		return ""
	}
	return fmt.Sprintf("the greedy answer to a fixed prompt differs at the end of the run, after the first %d of %d characters, and nothing else of the model's fingerprint does: engines are not bitwise deterministic, so this alone does not say that the model changed",
		commonPrefix(f.answer, end.answer), len([]rune(f.answer)))
}

// commonPrefix returns how many characters two texts have in common at their beginning.
func commonPrefix(a, b string) int {
	left, right := []rune(a), []rune(b)
	n := 0
	for n < min(len(left), len(right)) && left[n] == right[n] {
		n++
	}
	return n
}
