package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// minSecretLength prevents everyday header values ("1", "true") from being cut out of server texts.
const minSecretLength = 8

// redacted replaces a secret.
const redacted = "[redacted]"

// Secrets returns the values of request headers that no output may repeat, and each word of them: servers that refuse
// the key in "Bearer KEY" quote the key alone.
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

// Redact removes secrets from a text of a server. A text that Printable has truncated may end with the beginning of a
// secret, which is removed too.
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

// Redact removes the secrets of the client's headers from a text.
func (c *Client) Redact(text string) string { return Redact(text, c.secrets) }

// credentialName is a part of the names of headers that hold credentials.
var credentialName = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|pass|session|credential`)

// Credentials returns the secrets of those request headers whose names mark a credential. Values of other headers may
// also appear in servers' answers: a routing header, for example, has the name of a model.
func Credentials(header http.Header) []string {
	named := http.Header{}
	for name, values := range header {
		if credentialName.MatchString(name) {
			named[name] = values
		}
	}
	return Secrets(named)
}

// quotedText matches a JSON string, or a label value of a metrics page, which is quoted the same way.
var quotedText = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)

// RedactAnswer removes secrets from a server's whole answer before any of it is decoded: from its strings, however they
// are escaped, and from an answer without strings. Numbers stay, even if they contain the digits of a secret.
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

// redact removes secrets from everything in the result. From the model's name and the model's output it removes only
// credentials: they may contain values of other headers, such as that name in a routing header.
func (r *Result) redact(secrets, credentials []string) {
	for _, text := range []*string{&r.Record.FinishReason, &r.Record.ServerRequestID, &r.SystemFingerprint, &r.ErrorCode} {
		*text = Redact(*text, secrets)
	}
	for _, text := range []*string{&r.Model, &r.Output, &r.Text} {
		*text = Redact(*text, credentials)
	}
}
