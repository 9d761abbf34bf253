package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Identity is what a server seems to be.
type Identity struct {
	// Engine is the name of an engine, "" for a server that has pages of metrics only: its page identifies it.
	Engine string
	// PagePath is the path of its page of metrics, "" for an engine that has none.
	PagePath string
}

// Identify finds out what answers at an endpoint, at the path of its page or below the same prefix, before its metrics are asked, which some
// engine may hand to one reader only. It asks for lists of models, versions and descriptions of an API,
// which changes nothing in any engine, and asks a path only where the answer before leaves a doubt. A server that is
// neither an engine nor one of pages only is ErrUnknown, with the answer in the text.
func (c Client) Identify(ctx context.Context, e *Endpoint) (Identity, error) {
	models, err := c.ask(ctx, e, spec.ModelsPath)
	if err != nil {
		return Identity{}, err
	}
	for _, known := range c.Engines {
		if known.Identity.Server != "" && strings.EqualFold(models.server, known.Identity.Server) {
			return identityOf(known), nil
		}
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

// identifyByModels goes by the owner of the models. A frontend may list none until a worker has joined.
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
	if strings.HasSuffix(owner, spec.SimulatedSuffix) {
		return Identity{}, fmt.Errorf("%w: it is a simulated one", ErrUnknown)
	}
	if found, is := c.Engines.OfOwner(owner); is {
		return identityOf(found), nil
	}
	return Identity{}, fmt.Errorf("%w: the owner of its models is %.40q", ErrUnknown, owner)
}

func identityOf(engine spec.Engine) Identity { return Identity{engine.Name, engine.PagePath()} }

// identifyByDescription goes by the description of the API, which some engines give without a key.
func (c Client) identifyByDescription(ctx context.Context, e *Endpoint, models asked) (Identity, error) {
	described, err := c.ask(ctx, e, spec.OpenAPIPath)
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
	for _, known := range c.Engines {
		if title := known.Identity.Title; title != "" && strings.Contains(description.Info.Title, title) {
			return identityOf(known), nil
		}
	}
	for _, known := range c.Engines {
		if _, has := description.Paths[known.Identity.Route]; has {
			return identityOf(known), nil
		}
	}
	return Identity{}, models.unknown()
}

// identifyPages finds servers of pages only, which have neither models nor a version, or answer with their page at
// every path, as prometheus_client for Python does, and caches, which have a version and no models. Every server that hands its statistics to one reader has both.
func (c Client) identifyPages(ctx context.Context, e *Endpoint) (Identity, error) {
	version, err := c.ask(ctx, e, spec.VersionPath)
	if err != nil {
		return Identity{}, err
	}
	if version.status == http.StatusNotFound || version.status == http.StatusOK && version.isPage() {
		return Identity{PagePath: defaultPath}, nil
	}
	if version.status == http.StatusOK {
		return c.identifyByDescription(ctx, e, version)
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
