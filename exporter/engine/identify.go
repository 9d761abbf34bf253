package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// Identity is what a server seems to be.
type Identity struct {
	// Engine is a value of metric.LabelEngine, "" for a server that has pages of metrics only, as the block manager and
	// the workers of Dynamo have: their page identifies them.
	Engine string
	// PagePath is the path of its page of metrics, "" for an engine that has none.
	PagePath string
}

// ollama is an engine without a page of metrics.
const ollama = "ollama"

// Identify finds out what answers at an endpoint, at the path of its page or below the same prefix, before its metrics are asked: /metrics of
// TensorRT-LLM hands each entry to one reader only. It asks for lists of models, versions and descriptions of an API,
// which changes nothing in any engine, and asks a path only where the answer before leaves a doubt. A server that is
// neither an engine nor one of pages only is ErrUnknown, with the answer in the text.
func (c Client) Identify(ctx context.Context, e *Endpoint) (Identity, error) {
	models, err := c.ask(ctx, e, metric.ForeignModelsPath)
	if err != nil {
		return Identity{}, err
	}
	if strings.EqualFold(models.server, "llama.cpp") { // also while it loads its model
		return Identity{metric.EngineLlamaCPP, defaultPath}, nil
	}
	switch {
	case models.status == http.StatusOK && models.isPage(), models.status == http.StatusNotFound:
		return c.identifyPages(ctx, e)
	case models.status == http.StatusOK:
		return c.identifyByModels(ctx, e, models)
	case models.status == http.StatusUnauthorized:
		return c.identifyByDescription(ctx, e, models)
	}
	return Identity{}, models.unknown()
}

// identifyByModels goes by the owner of the models. Dynamo's frontend lists none until a worker has joined.
func (c Client) identifyByModels(ctx context.Context, e *Endpoint, models asked) (Identity, error) {
	var list struct {
		Data []struct {
			Owner string `json:"owned_by"`
		} `json:"data"`
	}
	if json.Unmarshal(models.body, &list) != nil || models.contentType != acceptJSON {
		return Identity{}, models.unknown()
	}
	if len(list.Data) == 0 {
		return c.identifyByDescription(ctx, e, models)
	}
	owner := list.Data[0].Owner
	switch found := metric.ForeignEngineOfOwner(owner); {
	case strings.HasSuffix(owner, metric.ForeignSimulatedSuffix):
		return Identity{}, fmt.Errorf("%w: it is a simulated one", ErrUnknown)
	case found == metric.EngineTensorRTLLM:
		return Identity{found, metric.ForeignTensorRTLLMPagePath}, nil
	case found != "":
		return Identity{found, defaultPath}, nil
	case owner == "library":
		return Identity{ollama, ""}, nil
	}
	return Identity{}, fmt.Errorf("%w: the owner of its models is %.40q", ErrUnknown, owner)
}

// identifyByDescription goes by the description of the API, which vLLM and Dynamo give without a key. No server of
// TensorRT-LLM counts tokens of a text.
func (c Client) identifyByDescription(ctx context.Context, e *Endpoint, models asked) (Identity, error) {
	described, err := c.ask(ctx, e, metric.ForeignDynamoOpenAPIPath)
	if err != nil {
		return Identity{}, err
	}
	var description struct {
		Info  struct{ Title string }
		Paths map[string]json.RawMessage
	}
	if described.status != http.StatusOK || json.Unmarshal(described.body, &description) != nil {
		return Identity{}, models.unknown()
	}
	_, tokenizes := description.Paths["/tokenize"]
	switch {
	case strings.Contains(description.Info.Title, "Dynamo"):
		return Identity{metric.EngineDynamo, defaultPath}, nil
	case tokenizes:
		return Identity{metric.EngineVLLM, defaultPath}, nil
	}
	return Identity{}, models.unknown()
}

// identifyPages finds servers of pages only, which have neither models nor a version, or answer with their page at
// every path, as prometheus_client for Python does. Every server of TensorRT-LLM has both.
func (c Client) identifyPages(ctx context.Context, e *Endpoint) (Identity, error) {
	version, err := c.ask(ctx, e, metric.ForeignVersionPath)
	if err != nil {
		return Identity{}, err
	}
	if version.status == http.StatusNotFound || version.status == http.StatusOK && version.isPage() {
		return Identity{PagePath: defaultPath}, nil
	}
	return Identity{}, version.unknown()
}

// asked is the answer to a question of Identify.
type asked struct {
	path, server, contentType string
	status                    int
	body                      []byte // of status 200
}

// isPage reports whether the content type is that of a page of metrics, not only of any text.
func (a asked) isPage() bool { return slices.Contains([]string{plainText, openMetrics}, a.contentType) }

// unknown is the error for a server that is no engine by this answer.
func (a asked) unknown() error {
	if a.status == http.StatusOK {
		return fmt.Errorf("%w: %s is no answer of one", ErrUnknown, a.path)
	}
	return fmt.Errorf("%w: %s %w", ErrUnknown, a.path, StatusError(a.status))
}

func (c Client) ask(ctx context.Context, e *Endpoint, path string) (asked, error) {
	at, err := e.at(path)
	if err != nil {
		return asked{}, err
	}
	response, err := c.open(ctx, e, at, acceptJSON)
	if err != nil {
		return asked{}, err
	}
	defer response.Body.Close()
	answer := asked{path: path, server: response.Header.Get("Server"), status: response.StatusCode}
	body, contentType, err := readResponse(response)
	if _, other := errors.AsType[StatusError](err); other || response.StatusCode/100 == 3 {
		return answer, nil
	}
	answer.contentType, answer.body = contentType, body
	return answer, err
}
