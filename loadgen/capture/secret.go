package capture

import (
	"net/url"
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
)

// redact takes secrets out of a page: those that are named, and what the addresses of the sources hold.
func (s *Scene) redact() func(page []byte) []byte {
	secrets := slices.Clone(s.settings.Secrets)
	for _, source := range s.Sources {
		secrets = append(secrets, addressSecrets(source.URL)...)
	}
	return func(page []byte) []byte { return openai.RedactAnswer(page, secrets) }
}

// addressSecrets are the values of a URL's query, and its password.
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
