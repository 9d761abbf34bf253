package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// served serves the API over a Prometheus that answers every query with one series of value 7.
func served(t *testing.T) (address string, asked func() []string) {
	t.Helper()
	var queries []string
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.FormValue("query"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"host":"spark"},"value":[1700000000,"7"]}]}}`)
	}))
	t.Cleanup(prometheus.Close)
	server := httptest.NewServer(handler(prometheus.URL, t.TempDir(), t.TempDir()))
	t.Cleanup(server.Close)
	return server.URL, func() []string { return queries }
}

func post(t *testing.T, address, body string) (status int, text string) {
	t.Helper()
	response, err := http.Post(address+"/api/ds/query", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func TestAQueryOfAPanelReachesPrometheus(t *testing.T) {
	address, asked := served(t)
	status, answer := post(t, address, `{"from":"1700000000000","to":"now","queries":[{"refId":"A","expr":"up{job=\"x\"}","instant":true,"intervalMs":15000,"maxDataPoints":100,"datasource":{"type":"prometheus","uid":"prometheus"}}]}`)
	if status != http.StatusOK || !strings.Contains(answer, `"host":"spark"`) || !strings.Contains(answer, "[7]") {
		t.Errorf("%d %s", status, answer)
	}
	if got := asked(); len(got) != 1 || got[0] != `up{job="x"}` {
		t.Errorf("Prometheus was asked %q", got)
	}
}

func TestAVariableAsksPrometheus(t *testing.T) {
	address, asked := served(t)
	response, err := http.Get(address + "/api/datasources/uid/prometheus/resources/api/v1/query?query=up")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := asked(); response.StatusCode != http.StatusOK || len(got) != 1 || got[0] != "up" {
		t.Errorf("%s, and Prometheus was asked %q", response.Status, got)
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	address, _ := served(t)
	for _, body := range []string{``, `{"from":"now-5m","to":"soon"}`, `{"from":"then","to":"now"}`, `{"from":"0","to":"now","queries":[{"intervalMs":"x"}]}`} {
		if status, _ := post(t, address, body); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", body, status)
		}
	}
}
