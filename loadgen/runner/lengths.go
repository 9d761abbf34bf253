package runner

import (
	"context"
	"fmt"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/workload"
)

// countTexts adds the count of texts to what the workload is written for, if its prompts are cut to a length. The caller
// calls the function after the workload is written. Without the server's tokenizer there is no count, unless estimates
// were asked for.
func (s *subject) countTexts(ctx context.Context, m *measurement, of *workload.Server) (done func(), err error) {
	cuts, exact := m.load.CutsText()
	done = func() {}
	if !cuts {
		return done, nil
	}
	calibration := s.calibration(m)
	of.Count = func(text string) (int, error) { return s.scale.Count(text), nil }
	var chats []server.ChatCount
	if exact {
		tokenizer, err := calibration.Tokenizer(ctx)
		if err != nil {
			return done, fmt.Errorf("%w (%s): prompts of exact length need it; %s", workload.ErrNoTokenizer, printable(err.Error()), workload.EstimatedLengths)
		}
		done, chats = tokenizer.Close, tokenizer.Chats()
		of.Count = func(text string) (int, error) { return tokenizer.Count(ctx, text) }
	}
	framing, chat, err := calibration.Framing(ctx, of.Count, chats...)
	if ctx.Err() != nil {
		return done, ctx.Err()
	}
	if err == nil {
		of.Framing = (*workload.Framing)(&framing)
		if chat != nil {
			of.CountChat = func(messages []openai.Message) (int, error) { return chat(ctx, messages) }
		}
	} else {
		m.env.Log.Info("how many tokens the chat template adds is not known", "why", printable(err.Error()))
	}
	return done, nil
}

// measureLatency measures how fast the server answers without a load.
func (s *subject) measureLatency(ctx context.Context, m *measurement) error {
	probe := s.calibration(m).ListLatency
	switch m.load.LatencyProbe() {
	case workload.LatencyNone:
		return nil
	case workload.LatencyGeneration:
		probe = s.calibration(m).TokenLatency
	}
	latency, err := probe(ctx)
	if err != nil {
		return fmt.Errorf("the probe of the latency failed: %w; --latency=none of arena, or --set latency=none of run, makes none", err)
	}
	s.latency = &latency
	return nil
}

// latencySeconds returns the latency for the manifest.
func (s *subject) latencySeconds() *float64 {
	if s.latency == nil {
		return nil
	}
	return new(s.latency.Seconds())
}

// latencyMode returns how it was measured; empty if it was not.
func (s *subject) latencyMode(probe workload.LatencyProbe) string {
	if s.latency == nil {
		return ""
	}
	return string(probe)
}
