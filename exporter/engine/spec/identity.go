package spec

import (
	"encoding/json"
	"strings"
)

// Identity describes the answers, beside its page of metrics, by which a server shows which engine it is.
type Identity struct {
	// Server is the value of the header Server of its answers.
	Server string
	// Owners are the names that it lists as the owner of its models, in lower case.
	Owners []string
	// Title is a part of the title of its own description of its API, and Route a path in the description of its API that
	// no other engine has.
	Title, Route string
	// Traits are answers that only this engine gives.
	Traits []Trait
	// Manner returns what in the error for a request without a prompt is the engine's manner, "" if nothing is.
	Manner func(body []byte) string
	// Fingerprint returns the version in a system_fingerprint that only this engine writes; nil if it writes none.
	Fingerprint func(text string) (version string, is bool)
	// Gateway is the engine's own gateway, nil if it has none.
	Gateway *Gateway
	// About is what it says about itself, nil for an engine that says nothing.
	About *About
	// Complete adds to the model of an engine with one model what other paths show. Ask decodes the JSON of a path.
	Complete func(ask func(path string, into any) error, facts Facts, m *Model)
}

// Trait describes an answer that only one engine gives.
type Trait struct {
	Path string
	// Costly is set for a path that a gateway may turn into a request to each of its models.
	Costly bool
	// Shows returns what in an answer, of any status, shows the engine; "" if nothing does.
	Shows func(status int, body []byte) string
}

// Gateway describes a gateway that answers at a path.
type Gateway struct {
	Name, Path string
	// Because says how its answer shows that it is one.
	Because string
	Is      func(body []byte) bool
}

// About describes the answer that has an engine's version.
type About struct {
	Path string
	// Read reads the answer. It has no facts of an answer in another form.
	Read func(body []byte) (Facts, error)
}

// Facts are an engine's version and the name of its only model; "" where the engine does not report them.
type Facts struct{ Version, Model string }

// HasAPI reports whether the engine lists models; a cache with a page of its own does not.
func (e Engine) HasAPI() bool { return len(e.Identity.Owners) > 0 }

// OfOwner returns the engine whose models have this owner in its list of models (owned_by).
func (all Engines) OfOwner(owner string) (Engine, bool) {
	for _, e := range all {
		for _, name := range e.Identity.Owners {
			if strings.EqualFold(name, owner) {
				return e, true
			}
		}
	}
	return Engine{}, false
}

// AboutVersion is the answer {"version": "0.32.0"} of VersionPath.
func AboutVersion() *About {
	return &About{Path: VersionPath, Read: func(body []byte) (Facts, error) {
		var answer struct{ Version string }
		err := json.Unmarshal(body, &answer)
		return Facts{Version: answer.Version}, err
	}}
}
