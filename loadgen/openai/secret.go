package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
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

// credentialName is a part of the names of headers that hold credentials.
var credentialName = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|pass|session|credential`)

// Credentials are the secrets of those request headers whose names say that they hold one. Other headers may well have what
// servers say openly: one that picks a route has the name of a model.
func Credentials(header http.Header) []string {
	named := http.Header{}
	for name, values := range header {
		if credentialName.MatchString(name) {
			named[name] = values
		}
	}
	return Secrets(named)
}

// quotedText is a string of JSON, or a label value of a page of metrics, which is written alike.
var quotedText = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)

// RedactAnswer takes secrets out of a whole answer of a server, before anything of it is read: out of its strings, however
// they are escaped, and out of an answer that has none. Numbers stay, which may have the digits of a secret.
func RedactAnswer(answer []byte, secrets []string) []byte {
	held := func(secret string) bool { return bytes.Contains(answer, []byte(secret)) }
	if len(secrets) == 0 || bytes.IndexByte(answer, 0x5c) < 0 && !slices.ContainsFunc(secrets, held) { // a backslash escapes
		return answer
	}
	if !json.Valid(answer) && !quotedText.Match(answer) {
		return []byte(Redact(string(answer), secrets))
	}
	return quotedText.ReplaceAllFunc(answer, func(quoted []byte) []byte {
		var text string
		if json.Unmarshal(quoted, &text) != nil {
			text = string(quoted[1 : len(quoted)-1])
		}
		hidden := Redact(text, secrets)
		if hidden == text {
			return quoted
		}
		changed, err := json.Marshal(hidden)
		if err != nil {
			return []byte(`""`)
		}
		return changed
	})
}

// redact takes secrets out of everything in the result. Of the name of the model and of what the model wrote only
// credentials are taken: values of other headers may be in them, such as that name in one that picks a route.
func (r *Result) redact(secrets, credentials []string) {
	for _, text := range []*string{&r.Record.FinishReason, &r.Record.ServerRequestID, &r.SystemFingerprint, &r.ErrorCode} {
		*text = Redact(*text, secrets)
	}
	for _, text := range []*string{&r.Model, &r.Output, &r.Text} {
		*text = Redact(*text, credentials)
	}
}
