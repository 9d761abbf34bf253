package loadgen

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnErrorSaysWhatToDoNext makes the mistakes of a first day. Each line names what was given, what is wrong with it,
// and what mends it.
func TestAnErrorSaysWhatToDoNext(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("empty/runs", 0o755); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const nobody = "127.0.0.1:1"
	answering := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	plain := answering(http.StatusOK)
	for says, typed := range map[string]string{
		"http://" + nobody + ": dial tcp " + nobody + ": connect: connection refused; nothing listens there: start the server, or correct the address": "check --url http://" + nobody,
		"connection refused; nothing listens there":                                                                                   "run --web.listen-address 127.0.0.1:0 --url http://" + nobody,
		"GET /v1/models answered 404; no OpenAI-compatible API is there":                                                              "check --url " + answering(http.StatusNotFound),
		"GET /v1/models answered 503; it is not ready: try again, or uma-load run --wait-ready 10m":                                   "check --url " + answering(http.StatusServiceUnavailable),
		"GET /v1/models answered 401; the server wants a key: --api-key-file":                                                         "run --web.listen-address 127.0.0.1:0 --url " + answering(http.StatusUnauthorized),
		"server gave HTTP response to HTTPS client; it speaks http://":                                                                "check --url " + strings.Replace(plain, "http:", "https:", 1),
		`URL "127.0.0.1:8000" does not begin with http:// or https://; did you mean http://127.0.0.1:8000?`:                           "check --url 127.0.0.1:8000",
		`does not begin with http:// or https://; did you mean http://spark?`:                                                         "run --url spark",
		"--telemetry: want NAME=URL, such as spark1=http://127.0.0.1:10420":                                                           "run --url http://u --telemetry http://127.0.0.1:10420",
		"--label: want NAME=VALUE with a plain name, such as arm=native":                                                              "run --url http://u --label native",
		`--slo: "500ms" is none of ttft, ttfo, tpot, e2e; want such as ttft=500ms,tpot=50ms`:                                          "run --url http://u --slo 500ms",
		"--rate: --arrival poisson needs one, such as --rate 2, or --stages":                                                          "run --url http://u --arrival poisson",
		"nosuch: no such folder; uma-load run makes runs below runs/, or below --out":                                                 "compare nosuch --by arm",
		"report-of: no such folder;":                                                                                                  "report report-of",
		"none here or below has a manifest.json; uma-load run makes one":                                                              "report empty",
		"--runs: nowhere: no such folder;":                                                                                            "runs list --runs nowhere",
		"gone: no such run: uma-load runs list --runs empty names those that there are":                                               "runs pin gone --runs empty",
		"open mine.yaml: no such file or directory; uma-load campaign plans lists ready ones":                                         "campaign run mine.yaml",
		"--interface: \"nosuch0\": this machine has no such interface":                                                                "hosts --interface nosuch0",
		nobody + ": connect: connection refused; nothing listens there: no run, campaign or serve of that address":                    "healthcheck --web.listen-address " + nobody,
		"--web.listen-address: listen tcp " + taken.Addr().String() + ": bind: address already in use; port 0 takes one that is free": "serve --runs empty --web.listen-address " + taken.Addr().String(),
	} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), strings.Fields(typed), &stdout, &stderr)
		if line := stderr.String(); code == exitDone || strings.Count(line, "\n") != 1 || !strings.Contains(line, says) {
			t.Errorf("uma-load %s: exit %d\n got %s\nwant %s", typed, code, line, says)
		}
	}
}

func TestAFolderThatCannotBeWrittenToIsAnsweredByTheFlagThatNamesAnother(t *testing.T) {
	// A file in the way is refused to root too, who may write anywhere.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	server := engine(t, 0)
	code := Run(t.Context(), []string{"run", "--url", server, "--requests=1", "--out", filepath.Join(file, "runs")}, &stdout, &stderr)
	if code != exitUsage || !strings.Contains(stderr.String(), "not a directory; --out names another folder") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}
