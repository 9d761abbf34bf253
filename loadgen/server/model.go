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

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/openai"
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
	// Root is where the engine has loaded the model from, if it says so: a folder, or a name on a hub.
	Root string `json:"root"`
}

// Simulated reports whether the model's owner marks it as simulated.
func (m Model) Simulated() bool { return strings.HasSuffix(m.OwnedBy, spec.SimulatedSuffix) }

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
	listed, err := readModelList(answer.body)
	if err != nil {
		return nil, fmt.Errorf("GET /v1/models: %w", err)
	}
	var models []Model
	for _, m := range listed {
		// A header that picks a route may contain the model's name, so only credentials are removed from that name
		// (api.send).
		m.OwnedBy, m.Root = a.secrets.Text(m.OwnedBy), a.secrets.Text(m.Root)
		m.MaxTokens = m.context()
		models = append(models, m.Model)
	}
	return models, nil
}

// notAList is a body that is not a list of models.
type notAList struct{ err error }

func (e notAList) Error() string { return "no model list: " + e.err.Error() }

// readModelList reads a list of models. Entries without a name are left out.
func readModelList(body []byte) ([]listedModel, error) {
	entries, err := openai.ListedModels(body)
	if err != nil {
		return nil, notAList{err}
	}
	var models []listedModel
	for _, entry := range entries {
		if m := readListedModel(entry); m.ID != "" {
			models = append(models, m)
		}
	}
	return models, nil
}

// readListedModel reads an entry: an object with an id, or else a name, or the name alone.
func readListedModel(entry []byte) listedModel {
	var m listedModel
	if json.Unmarshal(entry, &m.ID) == nil {
		return m
	}
	var other struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(entry, &m); err != nil {
		return listedModel{}
	}
	if m.ID == "" && json.Unmarshal(entry, &other) == nil {
		m.ID = other.Name
	}
	return m
}

// listedModel is an entry of the list, with the fields that some servers add:
//
//	{"id":"m","owned_by":"vllm","max_model_len":4096}            several engines
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

// listing is what a server answers to the request for its models.
type listing struct {
	models []Model
	// without is why there is no list; the model is then the one that the user names. Empty if there is a list.
	without string
}

// list asks for the models. That a server has no list is no error if the user names the model.
func (a *api) list(ctx context.Context, t Target) (listing, error) {
	models, err := a.models(ctx)
	if why := noList(models, err); why != "" && t.Model != "" {
		return listing{[]Model{{ID: t.Model}}, why}, nil
	}
	return listing{models, ""}, err
}

// noList returns how a server answered that has no list of models; "" if it has one, is not ready, wants a key, or did
// not answer.
func noList(models []Model, err error) string {
	answered, isStatus := errors.AsType[statusError](err)
	_, isOther := errors.AsType[notAList](err)
	switch {
	case isOther:
		return err.Error()
	case err == nil && len(models) == 0:
		return "GET /v1/models lists no model"
	case !isStatus:
		return ""
	}
	switch answered.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return ""
	}
	return err.Error()
}

// answers reports whether the endpoint of a server without a list is there: whatever it says of a request for one token,
// it is not a missing route or a server that is not ready.
func (a *api) answers(ctx context.Context, t Target) bool {
	body, err := openai.Body(openai.Params{Endpoint: t.Endpoint, Model: t.Model, Prompt: probePrompt, MaxTokens: 1, TopP: 1})
	if err != nil {
		return false
	}
	status := a.send(ctx, http.MethodPost, t.Endpoint.Route(), body).status
	return status != 0 && status != http.StatusNotFound && status < http.StatusInternalServerError
}

// ready returns the models once the server has listed some in consecutive requests, within the waiting time. Engines
// open their port minutes before they can answer, and a router lists a model before its last worker has it. A server
// without a list is ready when it answers.
func (a *api) ready(ctx context.Context, t Target, log *slog.Logger) (listing, error) {
	if t.WaitReady == 0 {
		return a.list(ctx, t)
	}
	waiting, cancel := context.WithTimeout(ctx, t.WaitReady)
	defer cancel()
	log.Info("waiting for the server to list a model", "url", t.URL, "at_most", t.WaitReady)
	var latest error
	for inRow := 0; ; {
		found, err := a.list(waiting, t)
		if err == nil && len(found.models) > 0 && (found.without == "" || a.answers(waiting, t)) {
			if inRow++; inRow >= t.ReadyConsecutive {
				return found, nil
			}
		} else {
			inRow = 0
			if waiting.Err() == nil {
				latest = err
				if found.without != "" {
					latest = errors.New(found.without)
				}
			}
		}
		select {
		case <-waiting.Done():
			return listing{}, notReady(ctx, t.WaitReady, latest)
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

// unnamed is the name of the only model that a router lists if it cannot see the models of its workers.
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
