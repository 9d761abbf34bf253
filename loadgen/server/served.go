package server

import (
	"context"
	"log/slog"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Served is what a run found behind its URL.
type Served struct {
	Model  Model
	Engine string
	// Detected says that the engine was told by what the server does; Clues are what that was.
	Detected bool
	Clues    []rundir.Clue
	Version  string // the engine's own word; empty if it has none
	// Settings are how it says that it is configured, by its own names.
	Settings map[string]string
	Key      string // of the API; empty for none
	// Page is where it has its metrics; empty if that shows no engine. TensorRT-LLM's page that drains is never it.
	Page string
	// Accepted is which request fields it takes, and Fields those of its vendor's among them; nil
	// stands for what is known of the vendor. Both are Recognize's to fill.
	Accepted rundir.Acceptance
	Fields   []openai.Field
}

// Inquire finds out what is served, and waits for it if the target says so. All that it finds wrong is
// bad input, unless the context is done.
func Inquire(ctx context.Context, t Target, log *slog.Logger) (Served, error) {
	key, err := t.apiKey()
	if err != nil {
		return Served{}, err
	}
	api, err := newAPI(t, key)
	if err != nil {
		return Served{}, err
	}
	defer api.close()
	models, err := api.ready(ctx, t, log)
	if err != nil {
		return Served{}, advised(t.URL, err)
	}
	s := Served{Engine: t.Engine, Key: key}
	if s.Model, err = choose(models, t.Model); err != nil {
		return Served{}, err
	}
	if err := t.holdPinned(s.Model); err != nil {
		return Served{}, err
	}
	seems := api.detect(ctx, s.Model)
	s.Clues, s.Version = seems.facts(), seems.version
	if seems.page != "" {
		s.Page = t.URL + seems.page
	}
	if t.Engine == EngineAuto {
		s.Engine, s.Detected = seems.engine, true
	}
	s.Settings = api.configured(ctx, s.Engine)
	if against := seems.contradiction(s.Engine); against != "" {
		log.Warn("the server does not look like one engine alone", "taken_for", s.Engine, "but", against)
	}
	return s, nil
}
