package runner

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/workload"
)

// answers collects from the answers of the measured phase what is not a time.
type answers struct {
	mutex sync.Mutex
	names []names // by the number of the server

	ok int
	// promptTokens counts the prompt tokens of all phases, as the server reports them. reportCached is true if an
	// answer reported how many of its prompt tokens came from a cache.
	promptTokens int
	reportCached bool
	// targeted counts the answers that report the length of a prompt whose length was set: the prompts should have had
	// targetTokens and had countedTokens.
	targeted, targetTokens, countedTokens int
	longest                               longest
	// otherLengths counts, in runs that force the answer length, answers of another length. tooLong counts, in other
	// runs, answers beyond the cap.
	otherLengths, tooLong int
}

// names are those that the answers of a server give.
type names struct{ models, fingerprints []string }

// of returns the names in the answers of a server.
func (a *answers) of(server int) names {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if server >= len(a.names) {
		return names{}
	}
	return a.names[server]
}

// count adds the prompt tokens of a result of any phase.
func (a *answers) count(record openai.Record) {
	if record.Status != openai.StatusOK || record.TokensIn == nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.promptTokens += *record.TokensIn
	a.reportCached = a.reportCached || record.TokensCached != nil
}

// mostNames is the most names that are kept. A server may make up new names without end.
const mostNames = 16

// add adds a result of a server. length is the cap of its answer in tokens, or the exact length if forced.
func (a *answers) add(result openai.Result, server, length int, forced bool) {
	record := result.Record
	if record.Status != openai.StatusOK {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.ok++
	if record.TokensIn != nil && record.InputTokensTarget > 0 {
		a.targeted++
		a.targetTokens += record.InputTokensTarget
		a.countedTokens += *record.TokensIn
		a.longest.add(*record.TokensIn, record.InputTokensTarget)
	}
	if out := record.TokensOut; out != nil && forced && *out != length {
		a.otherLengths++
	} else if out != nil && !forced && *out > length {
		a.tooLong++
	}
	for server >= len(a.names) {
		a.names = append(a.names, names{})
	}
	of := &a.names[server]
	of.models, of.fingerprints = addName(of.models, result.Model), addName(of.fingerprints, result.SystemFingerprint)
}

func addName(names []string, name string) []string {
	if name == "" || len(names) == mostNames {
		return names
	}
	for _, known := range names {
		if known == name {
			return names
		}
	}
	return append(names, name)
}

// judge compares the model in the answers of a server with the model that was asked for.
func (n names) judge(asked server.Model) rundir.ModelFindings {
	m := rundir.ModelFindings{Checked: len(n.models) > 0}
	for _, name := range n.models {
		if !asked.Named(name) {
			m.Mismatch = fmt.Sprintf("answers name the model %q", name)
		}
	}
	return m
}

// warnings returns warnings from the answers for which there is no validity rule. Several fingerprints may mean a
// fleet with several builds, or a restart during the run.
func (a *answers) warnings(w *workload.Workload) []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var warnings []string
	var fingerprints []string
	for _, of := range a.names {
		for _, name := range of.fingerprints {
			fingerprints = addName(fingerprints, name)
		}
	}
	if n := len(fingerprints); n > 1 {
		warnings = append(warnings, fmt.Sprintf("answers carry %d different system fingerprints: %s", n, printable(strings.Join(fingerprints, ", "))))
	}
	warnings = append(warnings, w.Script.Notes...)
	if warning := a.missed(w); warning != "" {
		warnings = append(warnings, warning)
	}
	if a.tooLong > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d answers are longer than the most that was asked for: the server ignores the cap under the name that it was sent (--engine)", a.tooLong, a.ok))
	}
	if a.otherLengths > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d answers do not have the exact length that was asked for: the engine does not obey, or the request lacks its option (--engine)", a.otherLengths, a.ok))
	}
	return warnings
}

// missed returns a warning if prompts did not have their intended lengths. It ignores conversations, where the text of
// a turn is only a part of the prompt.
func (a *answers) missed(w *workload.Workload) string {
	if a.targeted == 0 || w.Script.Facts.Clients > 0 {
		return ""
	}
	if warning := a.longest.cut(); warning != "" {
		return warning
	}
	allowed := missedRatio * float64(a.targetTokens)
	off := a.countedTokens - a.targetTokens
	if float64(off) >= -allowed && float64(off) <= allowed+float64(templateTokens*a.targeted) {
		return ""
	}
	return fmt.Sprintf("prompts have %.0f tokens on average by the server's count, %.0f were asked for: see how lengths come about", float64(a.countedTokens)/float64(a.targeted), float64(a.targetTokens)/float64(a.targeted))
}

// Limits for the total prompt length before missed warns: a share, and the tokens that a chat template may add to each
// prompt. The longest templates have a system message of their own.
const (
	missedRatio    = 0.02
	templateTokens = 64
)

// longest holds the prompts with the most tokens, as the server counts them.
type longest struct {
	tokens  int
	prompts int
	targets []int // their different intended lengths, at most mostTargets
}

// mostTargets is the most lengths that are kept. leastTargets different lengths do not become equal by chance.
const (
	mostTargets  = 16
	leastTargets = 3
)

func (l *longest) add(tokens, target int) {
	switch {
	case tokens < l.tokens:
		return
	case tokens > l.tokens:
		*l = longest{tokens: tokens, targets: l.targets[:0]}
	}
	l.prompts++
	if len(l.targets) < mostTargets && !slices.Contains(l.targets, target) {
		l.targets = append(l.targets, target)
	}
}

// cut returns a warning if prompts of different intended lengths have the same length. Ollama cuts prompts that exceed
// its context, without an error.
func (l *longest) cut() string {
	if len(l.targets) < leastTargets {
		return ""
	}
	return fmt.Sprintf("%d prompts that were to have %d to %d tokens were all counted as %d, the most of any: the server cuts prompts at its context without a word, and did not read the rest; --max-input-tokens of run keeps prompts below it",
		l.prompts, slices.Min(l.targets), slices.Max(l.targets), l.tokens)
}
