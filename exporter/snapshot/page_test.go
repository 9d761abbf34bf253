package snapshot

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

const served = `kind: constructed
description: a host with engines
page_size: 4096
kvbm_url: http://127.0.0.1:6880/metrics
kvbm_url: http://[::1]:9090/metrics
engine_url: http://127.0.0.1:8080/metrics
kvbm_log: /var/log/dynamo.log
kvbm_bytes_per_block: 4194304
-- nvml.jsonl --
` + opening + `-- proc/meminfo --
MemTotal: 1 kB
-- http/127.0.0.1:6880/metrics --
kvbm_matched_tokens 3
-- http/127.0.0.1:8080/slots --
[{"id": 0}]
-- log/var/log/dynamo.log --
a line
`

func get(t *testing.T, a opened, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a.HTTP.RoundTrip(request)
}

func TestArchiveAnswersWithItsPages(t *testing.T) {
	a := mustRead(t, served)
	for url, want := range map[string]struct{ kind, body string }{
		"http://127.0.0.1:6880/metrics":      {"text/plain; version=0.0.4; charset=utf-8", "kvbm_matched_tokens 3\n"},
		"http://127.0.0.1:8080/slots?all=no": {"application/json", "[{\"id\": 0}]\n"},
	} {
		response, err := get(t, a, url)
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != want.kind || string(body) != want.body {
			t.Errorf("%s: status %d, %q, %q, %v", url, response.StatusCode, response.Header, body, err)
		}
	}
	if log, err := os.ReadFile(filepath.Join(a.Logs, "var/log/dynamo.log")); err != nil || string(log) != "a line\n" {
		t.Errorf("log: %q, %v", log, err)
	}
}

func TestNobodyListensWhereAnArchiveHasNoPage(t *testing.T) {
	a := mustRead(t, served)
	if _, err := get(t, a, "http://127.0.0.1:9090/metrics"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("no server: %v, want it refused", err)
	}
	response, err := get(t, a, "http://127.0.0.1:6880/other")
	if err != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("no such page: %+v, %v", response, err)
	}
}

func TestHeaderNamesSourcesInOrderAndKeepsThem(t *testing.T) {
	a := mustRead(t, served)
	again, err := Read(append(a.format(nil), "-- nvml.jsonl --\n"+opening...))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []*Archive{a.Archive, again} {
		if !slices.Equal(one.KVBMURLs, []string{"http://127.0.0.1:6880/metrics", "http://[::1]:9090/metrics"}) ||
			!slices.Equal(one.EngineURLs, []string{"http://127.0.0.1:8080/metrics"}) ||
			!slices.Equal(one.KVBMLogs, []string{"/var/log/dynamo.log"}) || one.KVBMBlockBytes != 4194304 {
			t.Errorf("%q %q %q %d", one.KVBMURLs, one.EngineURLs, one.KVBMLogs, one.KVBMBlockBytes)
		}
	}
}

func TestLinksAmongPagesAreRefused(t *testing.T) {
	if _, err := Read([]byte(served + "-- http/127.0.0.1:1/x -> /proc/meminfo --\n")); err == nil {
		t.Error("a page that is a link was read")
	}
}
