package loadgen

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestNoSecretReachesTheFilesOfASweep(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", secrets["the environment's key"])
	page, _ := exporter(t)
	code, dir, stdout, stderr := swept(t, t.Context(), "--url", repeating(t).URL, "--over=concurrency=1,2", "--stop-error-rate=off", "--requests=8", "--warmup=1", "--log.level=debug",
		"--telemetry=spark="+page+"?token="+secrets["a query of telemetry"], "--scrape=engine="+page+"?token="+secrets["a query of a page"], "--telemetry-interval=100ms",
		"--capture=it=true "+secrets["a command"], "--header=X-Token:"+secrets["a header"], "--header=Authorization:Bearer "+secrets["a credential"], "--save-outputs", "--xlsx", "--csv")
	if code != exitInvalid {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if files := expectNoSecret(t, string(dir), map[string]string{"stdout": stdout, "stderr": stderr}); files < 24 {
		t.Errorf("only %d files", files)
	}
}

func TestNoSecretIsInWhyASweepFailed(t *testing.T) {
	url := turning(t, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad key "+r.Header.Get("X-Token"), http.StatusUnauthorized)
	})
	code, dir, stdout, stderr := swept(t, t.Context(), "--url", url, "--over=concurrency=1,2", "--requests=4", "--warmup=0", "--header=X-Token:"+secrets["a header"])
	if code != exitFailed || !strings.Contains(facts(t, dir).Reason, "401") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	expectNoSecret(t, string(dir), map[string]string{"stdout": stdout, "stderr": stderr})
}

// turning is a server that has another list of models from the second run on.
func turning(t *testing.T, another http.HandlerFunc) string {
	t.Helper()
	var lists atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/models" && lists.Add(1) > 2:
			another(w, r)
		case r.URL.Path == "/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		case !strings.HasPrefix(r.URL.Path, "/v1/"):
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestHostileTextStaysTextInWhatASweepWrites(t *testing.T) {
	names, err := json.Marshal(map[string]any{"data": []any{map[string]string{"id": hostileText}, map[string]string{"id": "other"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url  string
		args []string
		code int
		// silent are files that have no room for the text.
		silent []string
	}{
		"of servers, machines and labels": {hostileServer(t).URL, []string{"--stop-error-rate=off", "--telemetry=spark=" + hostileExporter(t), "--telemetry-interval=100ms"}, exitInvalid, []string{"stdout"}},
		"of why a run failed":             {turning(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(names) }), nil, exitFailed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			code, dir, stdout, stderr := swept(t, t.Context(), append([]string{"--url", c.url, "--over=concurrency=1,2", "--requests=9", "--warmup=0", "--label=arm=" + hostileLabel}, c.args...)...)
			if code != c.code {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			outputs := map[string]string{"stdout": stdout, "stderr": stderr}
			for _, name := range []string{"campaign.json", "campaign.csv", "plan.yaml", "journal.jsonl", "report.md", "report.html"} {
				outputs[name] = text(t, string(dir), name)
			}
			expectHarmless(t, outputs, append(c.silent, "campaign.csv")...)
		})
	}
}
