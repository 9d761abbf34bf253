package engine

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// TestCredentialsOfTheURLThatAnEngineEchoesAreInNoAnswer has an engine that writes them as label values and in JSON.
func TestCredentialsOfTheURLThatAnEngineEchoesAreInNoAnswer(t *testing.T) {
	const password, token = `hunter2-"quoted"`, "tok-4711-0815"
	echo := "up{model_name=\"a " + token + " b\",user=\"hunter2-\\\"quoted\\\"\",route=\"qwen3-8b\"} 471108150815\n"
	client, e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(map[string]string{"version": token + password})
			return
		}
		text("text/plain", echo)(w, r)
	})
	e = address(t, "http://bob:hunter2-%22quoted%22@"+e.URL.Host+"/metrics?api_token="+token+"&model=qwen3-8b")
	page, err := client.Page(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	series := page.Series("up", spec.Label{Name: "model_name", Value: "a [redacted] b"}, spec.Label{Name: "user", Value: "[redacted]"}, spec.Label{Name: "route", Value: "qwen3-8b"})
	if len(series) != 1 || series[0].Value != 471108150815 {
		t.Errorf("%+v", page.Series("up"))
	}
	var version struct{ Version string }
	if err := client.JSON(t.Context(), e, "/version", &version); err != nil || version.Version != "[redacted][redacted]" {
		t.Errorf("%q, %v", version.Version, err)
	}
}

// FuzzRedact puts a secret into a string of an answer: it is in no string afterwards, and valid JSON stays valid.
func FuzzRedactInAnswers(f *testing.F) {
	f.Add("before", `hunter2-"quoted"`, "after")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		sent, err := json.Marshal([]string{before + secret + after})
		var whole []string
		if err != nil || len(secret) < minSecretLength || strings.Contains(redacted, secret) || json.Unmarshal(sent, &whole) != nil || whole[0] != before+secret+after {
			return
		}
		var got []string
		if err := json.Unmarshal(redact(sent, []string{secret}), &got); err != nil || len(got) != 1 || got[0] != strings.ReplaceAll(whole[0], secret, redacted) {
			t.Errorf("%q, %v", got, err)
		}
	})
}
