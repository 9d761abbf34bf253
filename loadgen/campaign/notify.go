package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// notifyTimeout is the longest that sending a notice may take.
const notifyTimeout = 10 * time.Second

// Notifier sends notices about a campaign. The zero value sends none.
type Notifier struct {
	url  *url.URL
	form string
	// client sends the notices. Tests replace it.
	client *http.Client
}

// Formats of a message.
const (
	formWebhook = "webhook" // the Message as JSON
	formNtfy    = "ntfy"    // text, with its title in a header
	formSlack   = "slack"   // {"text": …}
)

// Message is the content of a notice, and the JSON that a webhook receives.
type Message struct {
	Schema   string         `json:"schema"`
	Campaign string         `json:"campaign"`
	Event    string         `json:"event"` // end, stop, stall or invalid
	State    State          `json:"state,omitempty"`
	Text     string         `json:"text"`
	Host     string         `json:"host,omitempty"`
	Slots    int            `json:"slots,omitempty"`
	Counts   map[Status]int `json:"counts,omitempty"`
}

// MessageSchema is the schema name of the webhook's JSON.
const MessageSchema = "umascope.notice/1"

// NewNotifier parses the notification URL. http and https are a webhook, unless the host is one of Slack's or ntfy's.
// ntfy+https, slack+https and webhook+https name the format explicitly. Its errors do not repeat the URL, which may be
// a secret.
func NewNotifier(address string) (Notifier, error) {
	if address == "" {
		return Notifier{}, nil
	}
	form, rest := formWebhook, address
	before, after, marked := strings.Cut(address, "+")
	if marked = marked && !strings.Contains(before, ":"); marked {
		form, rest = before, after
	}
	u, err := url.Parse(rest)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return Notifier{}, errors.New("not an address such as https://host/path, ntfy+https://host/topic or slack+https://host/path")
	case form != formWebhook && form != formNtfy && form != formSlack:
		return Notifier{}, fmt.Errorf("%.20q is none of webhook, ntfy, slack", form)
	}
	if !marked {
		form = formOf(u.Hostname())
	}
	client := &http.Client{Timeout: notifyTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return Notifier{u, form, client}, nil
}

// formOf returns the message format by the host of the URL.
func formOf(host string) string {
	switch {
	case host == "hooks.slack.com" || host == "hooks.slack-gov.com":
		return formSlack
	case host == "ntfy.sh" || strings.HasPrefix(host, "ntfy."):
		return formNtfy
	default:
		return formWebhook
	}
}

// String returns the part of the URL that may be shown. Its path and its query are secrets.
func (n Notifier) String() string {
	if n.url == nil {
		return ""
	}
	return n.form + " at " + n.url.Scheme + "://" + n.url.Host
}

// Tell sends a message. A failed notice does not fail a campaign. The error does not contain the URL.
func (n Notifier) Tell(ctx context.Context, m Message) error {
	if n.url == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	request, err := n.request(ctx, m)
	if err != nil {
		return err
	}
	response, err := n.client.Do(request)
	if err != nil {
		if failed := (*url.Error)(nil); errors.As(err, &failed) {
			err = failed.Err // without the address
		}
		return fmt.Errorf("%s: %w", n, err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %d", n, response.StatusCode)
	}
	return nil
}

func (n Notifier) request(ctx context.Context, m Message) (*http.Request, error) {
	title := "umascope: campaign " + m.Campaign
	var body []byte
	var err error
	contentType := "application/json"
	switch n.form {
	case formNtfy:
		body, contentType = []byte(m.Text), "text/plain; charset=utf-8"
	case formSlack:
		body, err = json.Marshal(map[string]string{"text": "*" + slackText(title) + "*\n" + slackText(m.Text)})
	default:
		m.Schema = MessageSchema
		body, err = json.Marshal(m)
	}
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address cannot be asked")
	}
	request.Header.Set("Content-Type", contentType)
	if n.form == formNtfy {
		request.Header.Set("Title", asciiOnly(title))
		request.Header.Set("Tags", m.Event)
	}
	return request, nil
}

// slackText escapes a text, so that Slack does not read it as markup or as a mention.
func slackText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// asciiOnly removes the characters that a header cannot contain.
func asciiOnly(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, text)
}
