package loadgen

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/report"
)

// served is what a run found behind its URL.
type served struct {
	model  model
	engine string
	// detected says that the engine was told by what the server does; clues are what that was.
	detected bool
	clues    []clue
	version  string
	key      string
	// accepted is which request fields it takes, and fields those of its vendor's among them; nil
	// stands for what is known of the vendor.
	accepted acceptance
	fields   []chat.Field
	// tiers is how much the tiers of its KV cache hold, as far as it is known; only scenarios that push
	// something out of them ask.
	tiers evidence.Room
	// scale is how many tokens texts have there.
	scale prompt.Scale
}

// inquire finds out what is served. All that it finds wrong is bad input.
func inquire(ctx context.Context, t target, log *slog.Logger) (served, error) {
	key, err := t.apiKey()
	if err != nil {
		return served{}, err
	}
	api, err := newServer(t, key)
	if err != nil {
		return served{}, err
	}
	defer api.client.CloseIdleConnections()
	models, err := api.ready(ctx, t, log)
	if ctx.Err() != nil {
		return served{}, errInterrupted
	}
	if err != nil {
		return served{}, usage(fmt.Errorf("--url: %s: %w", t.url, err))
	}
	found := served{engine: t.engine, key: key}
	if found.model, err = choose(models, t.model); err != nil {
		return served{}, err
	}
	seems := api.detect(ctx, found.model)
	found.clues, found.version = seems.clues, seems.version
	if t.engine == engineAuto {
		found.engine, found.detected = seems.engine, true
	}
	if against := seems.contradiction(found.engine); against != "" {
		log.Warn("the server does not look like one engine alone", "taken_for", found.engine, "but", against)
	}
	return found, nil
}

// answers collects what the answers of the measured phase say beside what is timed.
type answers struct {
	mutex        sync.Mutex
	models       []string
	fingerprints []string

	ok                        int
	inputTokens, cachedTokens int
	// targeted counts answers with a count of the prompt, whose prompts were to have targetTokens
	// and had countedTokens.
	targeted, targetTokens, countedTokens int
	// otherLengths counts answers that are not as long as was asked for, in runs that force the
	// length, and tooLong those beyond the cap, in others.
	otherLengths, tooLong int
}

// mostNames bounds what is kept of names that a server makes up as it goes.
const mostNames = 16

// add takes a result; length is the cap of its answer in tokens, or what it must have if forced.
func (a *answers) add(result chat.Result, length int, forced bool) {
	record := result.Record
	if record.Status != chat.StatusOK {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.ok++
	if record.TokensIn != nil && record.TokensCached != nil {
		a.inputTokens += *record.TokensIn
		a.cachedTokens += *record.TokensCached
	}
	if record.TokensIn != nil && record.InputTokensTarget > 0 {
		a.targeted++
		a.targetTokens += record.InputTokensTarget
		a.countedTokens += *record.TokensIn
	}
	if out := record.TokensOut; out != nil && forced && *out != length {
		a.otherLengths++
	} else if out != nil && !forced && *out > length {
		a.tooLong++
	}
	a.models = addName(a.models, result.Model)
	a.fingerprints = addName(a.fingerprints, result.SystemFingerprint)
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

// judge compares the answers' model with the one asked for.
func (a *answers) judge(asked model) report.Model {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	m := report.Model{ID: asked.ID, Simulated: asked.simulated(), Checked: len(a.models) > 0}
	for _, name := range a.models {
		if name != asked.ID {
			m.Mismatch = fmt.Sprintf("answers say they are from %q", name)
		}
	}
	return m
}

// cachedRatio is the share of cached prompt tokens above which a warning says so.
const cachedRatio = 0.1

// warnings says what the answers show that no rule of validity judges. Several fingerprints may
// be a fleet with several builds as well as a restart in the middle of the run.
func (a *answers) warnings(s script) []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var warnings []string
	if n := len(a.fingerprints); n > 1 {
		warnings = append(warnings, fmt.Sprintf("answers carry %d different system fingerprints: %s", n, printable(strings.Join(a.fingerprints, ", "))))
	}
	warnings = append(warnings, s.notes...)
	if warning := a.missed(s); warning != "" {
		warnings = append(warnings, warning)
	}
	if s.distinct && float64(a.cachedTokens) > cachedRatio*float64(a.inputTokens) {
		warnings = append(warnings, fmt.Sprintf("%d of %d prompt tokens came from the server's prefix cache, although no two prompts of this run begin alike: it has seen them before; restart it or choose another --seed", a.cachedTokens, a.inputTokens))
	}
	if a.tooLong > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d answers are longer than --output-tokens allows: the server does not know the cap by the name that it was sent (--engine)", a.tooLong, a.ok))
	}
	if a.otherLengths > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d answers do not have the length that --ignore-eos asks for: the engine does not obey, or was not told (--engine)", a.otherLengths, a.ok))
	}
	return warnings
}
