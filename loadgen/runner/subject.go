package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"

	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

// subject is a server under test, with the client that sends the load.
type subject struct {
	target   server.Target
	served   server.Served
	identity *server.Identity
	client   *openai.Client
	scale    traffic.TokenScale // tokens of texts by this server's tokenizer
	latency  *time.Duration     // without a load; nil if it was not measured
	// reset is the outcome of emptying the engine's prefix cache; nil if it was not asked for.
	reset *rundir.PrefixCacheReset
}

// newSubject asks a server which model it serves and what its limits are. It calls look once the server has answered.
func newSubject(ctx context.Context, m *measurement, t server.Target, look func(server.Served) error) (*subject, error) {
	served, err := server.Inquire(ctx, t, m.env.Log)
	if err != nil {
		return nil, Unusable(ctx, err)
	}
	if err := look(served); err != nil {
		return nil, Unusable(ctx, err)
	}
	s := &subject{target: t, served: served}
	if s.client, err = s.newClient(m.load, m.keep.Limits); err != nil {
		return nil, input(err)
	}
	if s.identity, err = server.Recognize(ctx, t, &s.served, m.load.wanted(), m.env.Log); err != nil {
		s.close()
		return nil, Unusable(ctx, err)
	}
	if s.scale, err = s.measureText(ctx, m); err != nil {
		s.close()
		return nil, err
	}
	if err = s.measureLatency(ctx, m); err != nil {
		s.close()
		return nil, Unusable(ctx, err)
	}
	return s, nil
}

// close closes the connections.
func (s *subject) close() {
	s.client.Close()
	if s.identity != nil {
		s.identity.Close()
	}
}

// describe returns what the manifest has of the server before the load.
func (s *subject) describe(probe workload.LatencyProbe) rundir.Server {
	start, _ := s.identity.Fingerprints()
	return rundir.Server{
		URL: s.target.URL, FoundBy: s.target.FoundBy, Model: s.served.Model.ID, OwnedBy: s.served.Model.OwnedBy, Simulated: s.served.Model.Simulated(),
		MaxTokens: s.served.Model.MaxTokens, Engine: s.served.Engine,
		EngineDetected: s.served.Detected, Version: s.served.Version,
		LatencyProbeSeconds: s.latencySeconds(), LatencyProbeMode: s.latencyMode(probe), PrefixCacheReset: s.reset,
		EngineClues: s.served.Clues, Fields: s.served.Accepted, FingerprintStart: start, Settings: s.served.Settings,
	}
}

// calibration returns the input for probes of the server.
func (s *subject) calibration(m *measurement) server.Calibration {
	return server.Calibration{
		Target: s.target, Served: s.served, Client: s.client, Stream: !m.load.NoStream, Sample: m.load.Sample(), Template: m.load.Template(),
	}
}

// measureText finds out how many tokens texts have.
func (s *subject) measureText(ctx context.Context, m *measurement) (traffic.TokenScale, error) {
	calibration := s.calibration(m)
	var scale traffic.TokenScale
	var err error
	if m.load.PromptIDs {
		scale, err = idScale(ctx, calibration)
	} else if scale, err = calibration.Scale(ctx); err == nil {
		m.env.Log.Debug("prompt lengths", "scale", scale.String())
	} else {
		m.env.Log.Info("the server does not report how many tokens texts have", "why", printable(err.Error()))
		scale, err = traffic.Assumption(), nil // the scale records that it is assumed
	}
	if ctx.Err() != nil {
		return scale, ErrInterrupted
	}
	if err != nil {
		return scale, input(err)
	}
	return scale, nil
}

// idScale finds token ids that prompts can be made of, and checks that the server counts them as sent.
func idScale(ctx context.Context, c server.Calibration) (traffic.TokenScale, error) {
	ids, err := c.IDs(ctx)
	if err != nil {
		return traffic.TokenScale{}, fmt.Errorf("--prompt-ids: %w", err)
	}
	return traffic.ScaleOfIDs(ids), nil
}

// wentOn warns of answers that the server did not end with [DONE].
func (s *subject) wentOn() []string {
	answers, bytes := s.client.AfterDone()
	if answers == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the server kept %d answers open after [DONE], and sent %d more bytes in them: no request waited for that, but connections that were not free again are opened anew, which is part of TTFT", answers, bytes)}
}

// mostIdle is the most idle connections of an open loop without a cap.
const mostIdle = 4096

// newClient makes the client that sends the load. It fails if there are too few file descriptors.
func (s *subject) newClient(l Load, limits summary.Limits) (*openai.Client, error) {
	options := s.clientOptions(l, limits)
	servers := 1 + len(l.Replicas) // each may have all requests in flight: one that is slow collects them
	needed := 0
	if l.Arrival == traffic.Closed { // for other arrivals it is a cap, which may not be reached
		needed = servers * options.Connections
	}
	limit, err := descriptorLimit()
	if err != nil {
		return nil, err
	}
	if options.MostOpen, err = mostConnections(limit, needed); err != nil {
		return nil, err
	}
	options.MostOpen = max(options.MostOpen/servers, 1)
	return openai.New(options)
}

func (s *subject) clientOptions(l Load, limits summary.Limits) openai.Options {
	connections := l.Place.Share(l.MostInFlight())
	if connections == 0 {
		connections = mostIdle
	}
	return openai.Options{
		BaseURL: s.target.URL, Header: s.target.RequestHeader(), APIKey: s.served.Key, CAFile: s.target.CAFile, Dial: s.target.Dial,
		Counts:      server.CountsOf(s.target.Known),
		Connections: connections, RequestTimeout: l.RequestTimeout,
		FirstTokenTimeout: l.FirstTokenTimeout, ChunkTimeout: l.ChunkTimeout,
	}
}

// shortestStall is the shortest stall of the client that is recorded.
const shortestStall = 2 * time.Millisecond
