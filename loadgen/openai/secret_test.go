package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestSecretsAreHeaderValuesAndEachWordOfThem(t *testing.T) {
	got := Secrets(http.Header{"Authorization": {"Bearer sk-0123456789"}, "X-Flag": {"1", "true"}})
	if slices.Sort(got); !slices.Equal(got, []string{"Bearer sk-0123456789", "sk-0123456789"}) {
		t.Errorf("%q", got)
	}
}

func TestSecretsThatAServerRepeatsAreRedacted(t *testing.T) {
	const key = "sk-0123456789"
	for name, c := range map[string]struct {
		options        Options
		message, error string
	}{
		"an API key and a header":  {Options{APIKey: key + "\n", Header: http.Header{"X-Tenant": {"tenant-secret-7"}}}, "bad key " + key + " of tenant-secret-7", "bad key [redacted] of [redacted]"},
		"a key without its scheme": {Options{Header: http.Header{"Authorization": {"Bearer " + key}}}, "bad key " + key, "bad key [redacted]"},
	} {
		c.options.Transport = script{status: 401, reads: []read{{data: `{"error":{"message":"` + c.message + `"}}`}}}
		r := newTestClient(t, c.options, nil).Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record
		if r.Status != StatusHTTP || r.Error != "HTTP 401: "+c.error {
			t.Errorf("%s: %s: %s", name, r.Status, r.Error)
		}
	}
}

func TestIdentifiersOfAServerAreRedacted(t *testing.T) {
	const key = "sk-0123456789"
	stream := events(`{"id":"`+key+`","model":"m","system_fingerprint":"`+key+`","choices":[{"delta":{"content":"a"},"finish_reason":"`+key+`"}]}`, done)
	for _, s := range []script{pieces(stream), withHeader(pieces(stream), "X-Request-Id", "id "+key)} {
		c := newTestClient(t, Options{Transport: s, APIKey: key}, nil)
		result := c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil)
		wantStatus(t, result.Record, StatusOK, "")
		for name, text := range map[string]string{
			"finish reason": result.Record.FinishReason, "request id": result.Record.ServerRequestID,
			"fingerprint": result.SystemFingerprint,
		} {
			if strings.Contains(text, key) || !strings.Contains(text, redacted) {
				t.Errorf("%s %q", name, text)
			}
		}
	}
	refused := script{status: 401, reads: []read{{data: `{"error":{"message":"no","code":"` + key + `"}}`}}}
	c := newTestClient(t, Options{Transport: refused, APIKey: key}, nil)
	if got := c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).ErrorCode; got != redacted {
		t.Errorf("error code %q", got)
	}
}

// FuzzRedact cuts a text with a secret in it wherever Printable may.
func FuzzRedact(f *testing.F) {
	f.Add("bad key ", "sk-0123456789", " of you", 20)
	f.Add("", "0123456789", "", 13)
	f.Add("é", "12345678", "…", 5)
	f.Fuzz(func(t *testing.T, before, secret, after string, limit int) {
		if len(secret) < minSecretLength || limit < len(ellipsis) || limit > 1000 || !utf8.ValidString(secret) || secret != Printable(secret, 1000) {
			return
		}
		got := NewRedactor([]string{secret}).Text(Printable(before+secret+after, limit))
		if strings.Contains(got, secret) && !strings.Contains(redacted, secret) {
			t.Errorf("%q holds %q", got, secret)
		}
		if text, cut := strings.CutSuffix(got, ellipsis); cut && strings.HasSuffix(text, secret[:minSecretLength]) && !strings.HasSuffix(redacted, secret[:minSecretLength]) {
			t.Errorf("%q ends in the beginning of %q", got, secret)
		}
	})
}

func TestCredentialsAreTheHeadersNamedSo(t *testing.T) {
	got := Credentials(http.Header{"Authorization": {"Bearer sk-0123456789"}, "X-Route": {"llama-3-70b-instruct"}, "X-Api-Key": {"key-0123456789"}})
	if slices.Contains(got, "llama-3-70b-instruct") || !slices.Contains(got, "sk-0123456789") || !slices.Contains(got, "key-0123456789") {
		t.Errorf("%q", got)
	}
}

func TestNoNameOrTextRepeatsACredential(t *testing.T) {
	const key = "sk-0123456789"
	stream := events(`{"id":"a","model":"m `+key+`","choices":[{"delta":{"content":"sk-01234"}}]}`, `{"choices":[{"delta":{"content":"56789"},"finish_reason":"stop"}]}`, done)
	c := newTestClient(t, Options{Transport: pieces(stream), APIKey: key, Header: http.Header{"X-Route": {"m-of-the-route"}}}, nil)
	result := c.Do(t.Context(), Request{Endpoint: Chat, KeepOutput: true, KeepText: true}, since(time.Now()), nil)
	if result.Model != "m "+redacted || result.Output != redacted || result.Text != redacted {
		t.Errorf("model %q, output %q, text %q", result.Model, result.Output, result.Text)
	}
}

// FuzzRedactAnswer puts a secret into a string of an answer, escaped and not.
func FuzzRedactAnswer(f *testing.F) {
	f.Add("a \"b\\", "sk-0123456789", "c", 1712345678)
	f.Add("", "\"/<>&'12", "", 12345678)
	f.Fuzz(func(t *testing.T, before, secret, after string, number int) {
		if len(secret) < minSecretLength || !utf8.ValidString(before+secret+after) || strings.Contains(redacted, secret) {
			return
		}
		answer, err := json.Marshal(map[string]any{"text": before + secret + after, "number": number})
		if err != nil {
			t.Fatal(err)
		}
		for _, sent := range [][]byte{answer, []byte(strings.ReplaceAll(string(answer), "s", `\u0073`))} {
			if strings.Contains(string(sent), `"number"`) && !json.Valid(sent) {
				return // a key of ours was escaped in the middle of an escape
			}
			var got struct {
				Text   string
				Number int
			}
			if err := json.Unmarshal(NewRedactor([]string{secret}).Answer(sent), &got); err != nil {
				t.Fatalf("%s: %v", sent, err)
			}
			if strings.Contains(got.Text, secret) && !strings.Contains(strings.ReplaceAll(before+secret+after, secret, redacted), secret) || got.Number != number {
				t.Errorf("%s: %+v", sent, got)
			}
		}
	})
}
