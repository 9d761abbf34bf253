package runner

import (
	"net/url"
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
)

// secrets returns those in the settings, and those in the URLs of the sources.
func (s *Capture) secrets() []string {
	secrets := slices.Clone(s.settings.Secrets)
	for _, source := range s.Sources {
		secrets = append(secrets, addressSecrets(source.URL)...)
	}
	return secrets
}

// redact returns a function that removes secrets from a page.
func (s *Capture) redact() func(page []byte) []byte {
	return openai.NewRedactor(s.secrets()).Answer
}

// addressSecrets returns the values of a URL's query, and its password.
func addressSecrets(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	values := map[string][]string{}
	for name, of := range u.Query() {
		values[name] = of
	}
	if password, is := u.User.Password(); is {
		values["password"] = []string{password}
	}
	return openai.Secrets(values)
}
