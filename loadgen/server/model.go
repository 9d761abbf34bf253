package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

const (
	// readyInterval is the time between two requests to a server that is starting.
	readyInterval = time.Second
	// listedModels is the most model names that an error repeats.
	listedModels = 20
)

// Model is a model as the server lists it.
type Model struct {
	ID      string `json:"id"`
	OwnedBy string `json:"owned_by"`
	// MaxTokens is the longest prompt with its output, in tokens; 0 if the server does not list it.
	MaxTokens int `json:"-"`
	// Root is where vLLM and SGLang have loaded the model from: a folder, or a name on a hub.
	Root string `json:"root"`
}

// Simulated reports whether the model's owner marks it as simulated.
func (m Model) Simulated() bool { return strings.HasSuffix(m.OwnedBy, metric.ForeignSimulatedSuffix) }

// Named reports whether a name in an answer is this model's. transformers serve appends the revision,
// tiny/random@main.
func (m Model) Named(name string) bool {
	return name == m.ID || strings.HasPrefix(name, m.ID+"@")
}

// models lists the models. A status other than 200 is an error.
func (a *api) models(ctx context.Context) ([]Model, error) {
	answer := a.fetch(ctx, "/v1/models")
	if answer.err != nil {
		return nil, answer.err
	}
	if answer.status != http.StatusOK {
		return nil, statusError{"GET /v1/models", answer.status}
	}
	var listed struct {
		Data []listedModel `json:"data"`
	}
	if err := json.Unmarshal(answer.body, &listed); err != nil {
		return nil, fmt.Errorf("GET /v1/models: no model list: %w", err)
	}
	var models []Model
	for _, m := range listed.Data {
		if m.ID == "" {
			continue
		}
		// A header that picks a route may contain the model's name, so only credentials are removed from that name
		// (api.send).
		m.OwnedBy, m.Root = a.secrets.Text(m.OwnedBy), a.secrets.Text(m.Root)
		m.MaxTokens = m.context()
		models = append(models, m.Model)
	}
	return models, nil
}

// listedModel is an entry of the list, with the fields that some servers add:
//
//	{"id":"m","owned_by":"vllm","max_model_len":4096}            vLLM and SGLang
//	{"id":"m","owned_by":"nvidia","context_window":4096}         Dynamo; 0 is unknown
//	{"id":"m","owned_by":"openai","max_input_tokens":4096}       LiteLLM
//	{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":4096,"n_ctx_train":131072}}
type listedModel struct {
	Model
	MaxModelLen    tokens          `json:"max_model_len"`
	ContextWindow  tokens          `json:"context_window"`
	MaxInputTokens tokens          `json:"max_input_tokens"`
	Meta           json.RawMessage `json:"meta"` // other servers may use it for anything
}

// context returns the longest prompt with its output, in tokens. It does not use n_ctx_train, since a server may give
// a slot less.
func (m listedModel) context() int {
	var meta struct {
		Context tokens `json:"n_ctx"`
	}
	_ = json.Unmarshal(m.Meta, &meta) // a meta that is not an object has no context
	return int(cmp.Or(m.MaxModelLen, m.ContextWindow, m.MaxInputTokens, meta.Context))
}

// ready returns the models once the server has listed some in consecutive requests, within the waiting time. Engines
// open their port minutes before they can answer, and a router lists a model before its last worker has it.
func (a *api) ready(ctx context.Context, t Target, log *slog.Logger) ([]Model, error) {
	if t.WaitReady == 0 {
		return a.models(ctx)
	}
	waiting, cancel := context.WithTimeout(ctx, t.WaitReady)
	defer cancel()
	log.Info("waiting for the server to list a model", "url", t.URL, "at_most", t.WaitReady)
	var latest error
	for inRow := 0; ; {
		models, err := a.models(waiting)
		if err == nil && len(models) > 0 {
			if inRow++; inRow >= t.ReadyConsecutive {
				return models, nil
			}
		} else {
			inRow = 0
			if waiting.Err() == nil {
				latest = err
			}
		}
		select {
		case <-waiting.Done():
			return nil, notReady(ctx, t.WaitReady, latest)
		case <-time.After(readyInterval):
		}
	}
}

func notReady(ctx context.Context, waited time.Duration, latest error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if latest == nil {
		latest = errors.New("no model is listed, or not often enough in a row")
	}
	return fmt.Errorf("not ready within %s: %w", waited, latest)
}

// choose returns the model that was asked for, or the only one.
func choose(models []Model, wanted string) (Model, error) {
	if wanted != "" {
		if m, served := find(models, wanted); served {
			return m, nil
		}
		return Model{}, fmt.Errorf("--model: %q is not served; served are: %s", wanted, namesOf(models))
	}
	switch len(models) {
	case 0:
		return Model{}, errors.New("--url: the server lists no model; --wait-ready waits for one")
	case 1:
		return models[0], nil
	default:
		return Model{}, fmt.Errorf("--model: choose one of: %s", namesOf(models))
	}
}

// unnamed is the name of the only model that sglang-router lists if it cannot see the models of its workers.
const unnamed = "unknown"

// find finds a model by name. A list without names counts as containing it.
func find(models []Model, id string) (Model, bool) {
	if i := slices.IndexFunc(models, func(m Model) bool { return m.ID == id }); i >= 0 {
		return models[i], true
	}
	if len(models) == 1 && models[0].ID == unnamed {
		return Model{ID: id, OwnedBy: models[0].OwnedBy}, true
	}
	return Model{}, false
}

func namesOf(models []Model) string {
	if len(models) == 0 {
		return "none"
	}
	var names []string
	for _, m := range models[:min(len(models), listedModels)] {
		names = append(names, m.ID)
	}
	if more := len(models) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// holdPinned refuses a server whose model is not the pinned one. Engines name a folder by its path or by its last
// part, so only the last part is compared.
func (t Target) holdPinned(m Model) error {
	if t.Pinned == "" || plainModel(m.ID) == plainModel(t.Pinned) {
		return nil
	}
	return fmt.Errorf("the server answers as %q, and the first run of the campaign with this model was answered as %q: if both are meant, set the flag model in each arm of the plan", m.ID, t.Pinned)
}

// plainModel returns the name of a model without its folder and its revision.
func plainModel(id string) string {
	name, _, _ := strings.Cut(id, "@")
	return path.Base(name)
}
