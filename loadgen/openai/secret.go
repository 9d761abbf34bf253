package openai

import (
	"bytes"
	"encoding/base64"
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
			for _, secret := range slices.Concat([]string{value}, strings.Fields(value), passwords(value)) {
				if len(secret) >= minSecretLength {
					secrets = append(secrets, secret)
				}
			}
		}
	}
	return secrets
}

// passwords returns the user and the password of a value for basic authentication, and the password alone.
func passwords(value string) []string {
	scheme, code, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "basic") {
		return nil
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(code))
	_, password, is := strings.Cut(string(plain), ":")
	if err != nil || !is {
		return nil
	}
	return []string{string(plain), password}
}

// Redact removes the secrets of the client's headers from a text.
func (c *Client) Redact(text string) string { return c.secrets.Text(text) }

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

// Answer removes secrets from a server's whole answer before any of it is decoded: from its strings, however they are
// escaped, and from an answer without strings. Numbers stay, even if they contain the digits of a secret.
func (r *Redactor) Answer(answer []byte) []byte {
	if r == nil || len(r.plain) == 0 {
		return answer
	}
	if bytes.IndexByte(answer, '\\') < 0 && r.Text(string(answer)) == string(answer) { // a backslash escapes
		return answer
	}
	if !json.Valid(answer) && !quotedText.Match(answer) {
		return []byte(r.Text(string(answer)))
	}
	return quotedText.ReplaceAllFunc(answer, func(quoted []byte) []byte {
		var text string
		if json.Unmarshal(quoted, &text) != nil {
			text = string(quoted[1 : len(quoted)-1])
		}
		hidden := r.Text(text)
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
func (r *Result) redact(secrets, credentials *Redactor) {
	for _, text := range []*string{&r.Record.FinishReason, &r.Record.ServerRequestID, &r.SystemFingerprint, &r.ErrorCode} {
		*text = secrets.Text(*text)
	}
	for i, name := range r.Record.UnknownMembers {
		r.Record.UnknownMembers[i] = secrets.Text(name)
	}
	for _, text := range []*string{&r.Model, &r.Output, &r.Text} {
		*text = credentials.Text(*text)
	}
}
