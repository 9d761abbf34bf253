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
	// Detected is true if the engine was identified by the server's behaviour. Clues are the observations.
	Detected bool
	Clues    []rundir.Clue
	Version  string // as the engine reports it; empty if it does not
	// Settings are the engine's reported settings, under its own names.
	Settings map[string]string
	Key      string // of the API; empty means none
	// Page is the path of its metrics; empty if they do not show an engine. It is never the page of TensorRT-LLM that
	// can be read only once.
	Page string
	// Accepted lists the request fields that it accepts, and Fields those of its vendor among them; nil means the
	// vendor's documented fields. Recognize fills both.
	Accepted rundir.Acceptance
	Fields   []openai.Field
	// Omit are fields of OpenAI's own that it refuses; Recognize fills it.
	Omit []openai.Field
	// Unlisted is why the server has no list of models; its model is then the one that the user names.
	Unlisted string
}

// Inquire finds out what is served, and waits for it if the target asks for that. Its errors are bad input, unless the
// context is done.
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
	found, err := api.ready(ctx, t, log)
	if err != nil {
		return Served{}, advised(t.URL, err)
	}
	s := Served{Engine: t.Engine, Key: key, Unlisted: found.without}
	if s.Model, err = choose(found.models, t.Model); err != nil {
		return Served{}, err
	}
	if s.Unlisted != "" {
		log.Warn("the server does not list its models; the model is the one that --model names", "why", printable(s.Unlisted))
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
