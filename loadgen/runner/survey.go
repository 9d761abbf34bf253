package runner

import (
	"context"
	"slices"

	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Surveyed is what a server says of its size, without a request to the model.
type Surveyed struct {
	Model, Engine string
	// Context is the longest prompt with its answer, and KVTokens the size of the KV cache, in tokens; 0 is unknown.
	Context, KVTokens int
}

// Survey asks a server for its size, and its page and exporters for that of its KV cache.
func Survey(ctx context.Context, keep Keep, load Load, env Environment) (Surveyed, error) {
	load.Target.Dial, keep.Capture.dial = env.Dial, env.Dial
	served, err := server.Inquire(ctx, load.Target, env.Log)
	if err != nil {
		return Surveyed{}, Unusable(ctx, err)
	}
	s := Surveyed{Model: served.Model.ID, Engine: served.Engine}
	if s.Context, err = server.ContextOf(ctx, load.Target, served); err != nil {
		return Surveyed{}, Unusable(ctx, err)
	}
	keep.Capture.Secrets = append(slices.Clone(keep.Capture.Secrets), load.Target.Credentials()...)
	around, err := NewMachineCapture(ctx, keep.Capture, env.Exporter, env.Log)
	if err != nil {
		return Surveyed{}, Unusable(ctx, err)
	}
	if served.Page != "" {
		client, err := load.Target.PageClient()
		if err != nil {
			return Surveyed{}, input(err)
		}
		around.followServer(telemetry.Source{Name: serverName(0), URL: served.Page, Client: client})
	}
	if len(around.Sources) == 0 {
		return s, nil
	}
	if log, err := around.Glance(ctx); err == nil {
		s.KVTokens = int(summary.ReadKVRoom(log, keep.Hosts(), served.Model.Simulated(), load.Expect).DeviceTokens)
	}
	return s, ctx.Err()
}
