package engine

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/common/config"
	"go.yaml.in/yaml/v4"
)

// Access is how a page is asked for that is behind a key, a password or a certificate authority of its own: the TLS
// settings and credentials of a scrape job of Prometheus. Files that it names are read again for each request, so that
// an exchanged key needs no restart. It prints nothing of itself.
type Access struct {
	settings config.HTTPClientConfig
	// secrets must appear in no series and no message.
	user   config.SecretReader // nil without a password
	secret config.SecretReader // nil without credentials

	mu        sync.Mutex
	base      http.RoundTripper // that the transport was made of
	transport http.RoundTripper
}

// String implements fmt.Stringer.
func (*Access) String() string { return "credentials" }

// AccessKeys are the keys of a scrape job of Prometheus that ParseAccess reads, with the keys below each; none below one
// that is a text.
func AccessKeys() map[string][]string {
	return map[string][]string{
		"authorization": {"type", "credentials", "credentials_file"},
		"basic_auth":    {"username", "username_file", "password", "password_file"},
		"tls_config": {"ca", "ca_file", "cert", "cert_file", "key", "key_file", "server_name", "insecure_skip_verify",
			"min_version", "max_version"},
		"bearer_token":      nil,
		"bearer_token_file": nil,
	}
}

// ParseAccess reads the keys of a scrape job of Prometheus, by name; nil if there are none. Relative names of files are
// below the directory. Errors never repeat a value, which may be a secret.
//
//	authorization: {type: Bearer, credentials_file: engine.key}
//	tls_config: {ca_file: engine-ca.pem}
func ParseAccess(keys map[string]*yaml.Node, directory string) (*Access, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if err := checkAccessKey(name, keys[name]); err != nil {
			return nil, err
		}
	}
	text, err := yaml.Dump(keys)
	if err != nil {
		return nil, errNoAccess
	}
	settings, err := config.LoadHTTPConfig(string(text))
	switch {
	case err != nil && repeats(err, keys):
		return nil, errNoAccess
	case err != nil:
		return nil, err
	}
	settings.SetDirectory(directory)
	return newAccess(*settings)
}

var errNoAccess = errors.New("authorization, basic_auth and tls_config must have the form of a scrape job of Prometheus")

// repeats reports whether an error may hold a value: the parser quotes what it cannot read.
func repeats(err error, keys map[string]*yaml.Node) bool {
	const shortest = 4 // a word such as "on" is in many texts
	text := err.Error()
	holds := func(node *yaml.Node) bool { return len(node.Value) >= shortest && strings.Contains(text, node.Value) }
	if strings.ContainsAny(text, "`\n") {
		return true
	}
	for _, node := range keys {
		if holds(node) {
			return true
		}
		for i := 1; i < len(node.Content); i += 2 {
			if holds(node.Content[i]) {
				return true
			}
		}
	}
	return false
}

// checkAccessKey checks the names below a key. The error does not repeat a name, which may be a misplaced secret.
func checkAccessKey(name string, node *yaml.Node) error {
	allowed, known := AccessKeys()[name]
	switch {
	case !known:
		return fmt.Errorf("a key that is not used; choose from %s", strings.Join(slices.Sorted(maps.Keys(AccessKeys())), ", "))
	case allowed == nil && node.Kind != yaml.ScalarNode:
		return fmt.Errorf("%s: must be a text", name)
	case allowed == nil:
		return nil
	case node.Kind != yaml.MappingNode:
		return fmt.Errorf("%s: must have keys of its own: %s", name, strings.Join(allowed, ", "))
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !slices.Contains(allowed, node.Content[i].Value) {
			return fmt.Errorf("%s: line %d has an unknown key; choose from %s", name, node.Content[i].Line, strings.Join(allowed, ", "))
		}
		if node.Content[i+1].Kind != yaml.ScalarNode {
			return fmt.Errorf("%s: %s must be a text", name, node.Content[i].Value)
		}
	}
	return nil
}

func newAccess(settings config.HTTPClientConfig) (*Access, error) {
	a := &Access{settings: settings}
	if given := settings.Authorization; given != nil {
		if a.secret = secretOf(string(given.Credentials), given.CredentialsFile); a.secret == nil {
			return nil, errors.New("authorization: credentials or credentials_file is missing")
		}
	}
	if given := settings.BasicAuth; given != nil {
		a.user, a.secret = secretOf(given.Username, given.UsernameFile), secretOf(string(given.Password), given.PasswordFile)
		if a.user == nil || a.secret == nil {
			return nil, errors.New("basic_auth: username and password, or files of both, are needed")
		}
	}
	return a, nil
}

// secretOf is nil if neither is given.
func secretOf(text, file string) config.SecretReader {
	switch {
	case text != "":
		return config.NewInlineSecret(text)
	case file != "":
		return config.NewFileSecret(file)
	}
	return nil
}

// over returns a transport that asks with the settings over the connections of base.
func (a *Access) over(base http.RoundTripper) (http.RoundTripper, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.transport != nil && a.base == base {
		return a.transport, nil
	}
	transport, err := a.secured(base)
	if err != nil {
		return nil, err
	}
	switch {
	case a.settings.BasicAuth != nil:
		transport = config.NewBasicAuthRoundTripper(a.user, a.secret, transport)
	case a.settings.Authorization != nil:
		transport = config.NewAuthorizationCredentialsRoundTripper(a.settings.Authorization.Type, a.secret, transport)
	}
	a.base, a.transport = base, transport
	return transport, nil
}

// secured returns base with the TLS settings. Base is unchanged if there are none.
func (a *Access) secured(base http.RoundTripper) (http.RoundTripper, error) {
	given := a.settings.TLSConfig
	if given == (config.TLSConfig{}) {
		return base, nil
	}
	connections, is := base.(*http.Transport)
	if !is {
		return nil, errors.New("tls_config: this host has no connections of its own")
	}
	settings, err := config.NewTLSConfig(&given)
	if err != nil {
		return nil, fmt.Errorf("tls_config: %w", err)
	}
	with := func(settings *tls.Config) (http.RoundTripper, error) {
		own := connections.Clone()
		own.TLSClientConfig = settings
		return own, nil
	}
	if given.CAFile == "" && given.CertFile == "" && given.KeyFile == "" {
		return with(settings)
	}
	return config.NewTLSRoundTripper(settings, config.TLSRoundTripperSettings{
		CA: secretOf(given.CA, given.CAFile), Cert: secretOf(given.Cert, given.CertFile), Key: secretOf(string(given.Key), given.KeyFile),
	}, with)
}

// leastGivenSecret is the minimum length in bytes of a given secret that is cut out of answers.
const leastGivenSecret = 6

// values are the secrets, in each form in which a server can repeat them. A file that cannot be read has none; the
// request fails for the same reason.
func (a *Access) values(ctx context.Context) []string {
	if a == nil || a.secret == nil {
		return nil
	}
	secret, err := a.secret.Fetch(ctx)
	if err != nil {
		return nil
	}
	found := []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))}
	if a.user != nil {
		if user, err := a.user.Fetch(ctx); err == nil {
			found = append(found, base64.StdEncoding.EncodeToString([]byte(user+":"+secret)))
		}
	}
	return slices.DeleteFunc(found, func(one string) bool { return len(one) < leastGivenSecret })
}
