package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
)

const (
	// minSecretLength is in bytes. It keeps everyday words ("user", "true") from being cut out of answers.
	minSecretLength = 8
	redacted        = "[redacted]"
)

var (
	// credentialName is a part of the names of query parameters that hold credentials; others pick a model, say.
	credentialName = regexp.MustCompile(`(?i)auth|key|token|secret|pass|session|credential`)
	// quotedText is a string of JSON or a label value of a page. A label value is written alike.
	quotedText = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
)

// secrets are the credentials in the URL: the password, or the user if there is none, and query parameters that are named
// like credentials.
func secrets(u *url.URL) []string {
	var found []string
	add := func(secret string) {
		if len(secret) >= minSecretLength {
			found = append(found, secret)
		}
	}
	if password, has := u.User.Password(); has {
		add(password)
	} else {
		add(u.User.Username())
	}
	for name, values := range u.Query() {
		if credentialName.MatchString(name) {
			for _, value := range values {
				add(value)
			}
		}
	}
	return found
}

// secrets are those of the URL and of the access.
func (e *Endpoint) secrets(ctx context.Context) []string {
	return append(secrets(e.URL), e.Access.values(ctx)...)
}

// hide returns the error without the secrets: a server may repeat them in what an error quotes.
func hide(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	if text := hideText(err.Error(), secrets); text != err.Error() {
		return hiddenError{text, err}
	}
	return err
}

func hideText(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// hiddenError is an error of which a secret was removed.
type hiddenError struct {
	text string
	error
}

func (e hiddenError) Error() string { return e.text }

// Is reports what the error was, without giving it out.
func (e hiddenError) Is(target error) bool { return errors.Is(e.error, target) }

// redact removes secrets from the strings of an answer, however they are escaped, before anything of it is parsed. Numbers
// stay, which may have the digits of a secret.
func redact(answer []byte, secrets []string) []byte {
	if len(secrets) == 0 {
		return answer
	}
	return quotedText.ReplaceAllFunc(answer, func(quoted []byte) []byte {
		var text string
		if json.Unmarshal(quoted, &text) != nil {
			text = string(quoted[1 : len(quoted)-1])
		}
		hidden := hideText(text, secrets)
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
