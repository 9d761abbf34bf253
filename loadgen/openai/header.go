package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// setHeader sets the client's own headers, lets the caller's headers replace them, and keeps the secrets in them so
// that they are not repeated when a server quotes them.
func (c *Client) setHeader(o Options) error {
	c.header = http.Header{
		"Accept": {"text/event-stream, application/json"},
		// net/http would ask for gzip, whose blocks hold several events back.
		"Accept-Encoding": {"identity"},
		"Content-Type":    {"application/json"},
		"User-Agent":      {"uma-load"},
		// With no value, the key is not sent. It lets net/http repeat a request: it may go out on another connection if
		// its kept connection is closed before any byte of an answer. llama.cpp's server promises to keep connections
		// and closes them after each stream; a request sent at that moment is not the server's failure, and requesting
		// a generation twice is harmless. Only this case is retried here, and the record counts it.
		"X-Idempotency-Key": nil,
	}
	var secrets, credentials []string
	if key := strings.TrimSpace(o.APIKey); key != "" {
		if !isHeaderValue(key) {
			return errors.New("API key holds control characters")
		}
		c.header.Set("Authorization", "Bearer "+key)
		secrets, credentials = append(secrets, key), append(credentials, key)
	}
	for name, values := range o.Header {
		if err := c.overrideHeader(name, values); err != nil {
			return err
		}
		secrets = append(secrets, Secrets(http.Header{name: values})...)
		credentials = append(credentials, Credentials(http.Header{name: values})...)
	}
	c.secrets, c.credentials = NewRedactor(secrets), NewRedactor(credentials)
	return nil
}

func (c *Client) overrideHeader(name string, values []string) error {
	if !isHeaderName(name) {
		return fmt.Errorf("header name %q is not valid", name)
	}
	for _, value := range values {
		if !isHeaderValue(value) {
			return fmt.Errorf("value of header %s holds control characters", name)
		}
	}
	if strings.EqualFold(name, "Host") && len(values) > 0 {
		c.host = values[0]
		return nil
	}
	c.header[http.CanonicalHeaderKey(name)] = values
	return nil
}

func isHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isHeaderValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
