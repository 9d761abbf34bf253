package chat

import (
	"net/http"
	"strings"
)

// minSecretLength keeps everyday header values ("1", "true") from being cut out of foreign texts.
const minSecretLength = 8

// redacted stands for a secret.
const redacted = "[redacted]"

// Secrets are the values of request headers that nothing may repeat, and each word of them: of
// "Bearer KEY", servers that refuse the key quote the key alone.
func Secrets(header http.Header) []string {
	var secrets []string
	for _, values := range header {
		for _, value := range values {
			for _, secret := range append([]string{value}, strings.Fields(value)...) {
				if len(secret) >= minSecretLength {
					secrets = append(secrets, secret)
				}
			}
		}
	}
	return secrets
}

// Redact takes secrets out of a foreign text. One that Printable has cut short may end in the
// beginning of a secret; that is taken out too.
func Redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	whole, cut := strings.CutSuffix(text, ellipsis)
	if !cut {
		return text
	}
	for _, secret := range secrets {
		for n := len(secret) - 1; n >= minSecretLength; n-- {
			if left, ends := strings.CutSuffix(whole, secret[:n]); ends {
				return left + redacted + ellipsis
			}
		}
	}
	return text
}

// Redact takes the secrets of the client's headers out of a text.
func (c *Client) Redact(text string) string { return Redact(text, c.secrets) }

// redact takes secrets out of everything in the result that is a word of the server's. What the
// model wrote is data and stays as it is, and so does the name of the model, which is compared with
// the one asked for: a header that picks a route may well have it.
func (r *Result) redact(secrets []string) {
	for _, text := range []*string{&r.Record.FinishReason, &r.Record.ServerRequestID, &r.SystemFingerprint, &r.ErrorCode} {
		*text = Redact(*text, secrets)
	}
}
