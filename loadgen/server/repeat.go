package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// leastWords is the shortest prompt that is tried, in words.
const leastWords = 16

// blockTokens returns the tokens in a block of the KV cache, as the server reports them; 0 if unknown.
func (a *api) blockTokens(ctx context.Context, m Model, engine string) int {
	if known, is := a.known.Find(engine); is && known.Metrics.BlockGauge != "" {
		return modelGauge(a.fetch(ctx, metricsPath).okBody(), known.Metrics.BlockGauge, m.ID)
	}
	return rundir.Server{Settings: a.configured(ctx, engine)}.CacheBlock(a.known)
}

// sizePrompt sets the number of words in the check's prompts: more than two blocks, so that sending one twice can show
// cached tokens, and at most half of the context. Every word has at least one token.
func (c *checker) sizePrompt(ctx context.Context, m Model) {
	c.block = c.api.blockTokens(ctx, m, c.found.Engine)
	block := c.block
	if block == 0 {
		block = rundir.LargestBlock
	}
	if c.words = 2*block + leastWords; c.limit > 0 {
		c.words = max(min(c.words, c.limit/2-checkTokens), leastWords)
	}
}

// text returns the prompt of the check.
func (c *checker) text() string {
	return traffic.PromptSet{Lengths: []traffic.Lengths{{Min: c.words, Max: c.words}}}.Prompt("check", 0).Text
}

// long sends the prompt of the check. If it is longer than the server accepts, it tries fewer words, since a word may
// have several tokens.
func (c *checker) long(ctx context.Context, endpoint openai.Endpoint) (openai.Result, error) {
	for {
		result, err := c.probe.send(ctx, c.params(endpoint))
		if err == nil || !overLimit(result) || c.words <= leastWords {
			return result, err
		}
		c.words = max(c.words/2, leastWords)
	}
}

// cached reports what the answer to a repeated prompt shows of a prefix cache.
func (c *checker) cached(record openai.Record) string {
	if record.TokensCached == nil {
		return "not reported; " + reportsCached(c.target.Known)
	}
	text := fmt.Sprintf("%d when the same request came again", *record.TokensCached)
	if record.TokensIn != nil {
		text += fmt.Sprintf(", of %d", *record.TokensIn)
	}
	if t := record.TokensCachedByTier; t != nil {
		for _, tier := range []struct {
			name string
			n    *int
		}{{"device", t.Device}, {"host", t.Host}, {"storage", t.Storage}} {
			if tier.n != nil {
				text += fmt.Sprintf(", %s %d", tier.name, *tier.n)
			}
		}
	}
	if c.block > 0 {
		text += fmt.Sprintf("; a block of KV cache has %d", c.block)
	}
	return text
}

// reportsCached names the options with which engines report cached tokens.
func reportsCached(known spec.Engines) string {
	var with []string
	for _, e := range known {
		if e.CachedTokens == "" {
			continue
		}
		verb := ""
		if len(with) == 0 {
			verb = "does "
		}
		with = append(with, e.Title+" "+verb+"with "+e.CachedTokens)
	}
	return strings.Join(with, ", ")
}
