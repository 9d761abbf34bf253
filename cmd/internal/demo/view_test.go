package demo

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answering is a view whose queries have an answer.
func answering(t *testing.T, status int, body string) *viewer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return &viewer{at: strings.TrimPrefix(server.URL, "http://"), client: server.Client()}
}

func TestFiringAlertsAreNamedOnce(t *testing.T) {
	v := answering(t, http.StatusOK, `{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"alertname":"RunInvalid","host":"spark-a"},"values":[[8,"1"]]},
		{"metric":{"alertname":"GPUHot","host":"spark-a"},"values":[[8,"1"]]},
		{"metric":{"alertname":"GPUHot","host":"spark-b"},"values":[[9,"1"]]}]}}`)
	names, err := v.firing(t.Context(), `severity!="none"`, time.Unix(0, 0), time.Unix(9, 0))
	if err != nil || strings.Join(names, " ") != "GPUHot RunInvalid" {
		t.Errorf("%v, %v", names, err)
	}
	if !v.fires(t.Context(), heatAlert, "spark-a") {
		t.Error("an alert that fires is not seen")
	}
}

func TestAQueryThatFailsSaysWhy(t *testing.T) {
	v := answering(t, http.StatusBadRequest, `{"status":"error","error":"parse error: no such thing"}`)
	if _, err := v.firing(t.Context(), "up[", time.Unix(0, 0), time.Unix(1, 0)); err == nil || !strings.Contains(err.Error(), "up[") || !strings.Contains(err.Error(), "no such thing") {
		t.Error(err)
	}
	if v.fires(t.Context(), heatAlert, "spark") {
		t.Error("an error is an alert")
	}
}

// TestTheViewGetsTheMachinesAndTheScaledRules holds its command line and files against what uma-view needs.
func TestTheViewGetsTheMachinesAndTheScaledRules(t *testing.T) {
	folder := t.TempDir()
	page := func(port string) [3]listener { return [3]listener{exporterPage: {at: "127.0.0.1:" + port}} }
	s := &showing{shown: &shown{folder: folder, options: showOptions{allowHosts: []string{"demo.example"}}}, viewListens: "0.0.0.0:5", viewAt: "127.0.0.1:5", machines: []*machine{
		{name: "spark-a", pages: page("1"), loadAt: "127.0.0.1:11"}, {name: "spark-b", pages: page("2"), loadAt: "127.0.0.1:12"},
	}}
	args := strings.Join(s.viewArguments(), " ")
	for _, want := range []string{"--web.listen-address 0.0.0.0:5 ", "--host spark-a ", "--exporter http://127.0.0.1:1/metrics ", "--load 127.0.0.1:11 ", "--load 127.0.0.1:12", "--runs " + folder, "--web.allow-host demo.example"} {
		if !strings.Contains(args, want) {
			t.Errorf("%s lacks %s", args, want)
		}
	}
	if err := s.writeTargets(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, targetsFile))
	if err != nil || !strings.Contains(string(text), "127.0.0.1:2") || !strings.Contains(string(text), "host: spark-b") || strings.Contains(string(text), "spark-a") {
		t.Errorf("%s, %v", text, err)
	}
	if err := writeRules(filepath.Join(folder, rulesFolder)); err != nil {
		t.Fatal(err)
	}
	if rules, err := filepath.Glob(filepath.Join(folder, rulesFolder, "*.yaml")); err != nil || len(rules) < 8 {
		t.Errorf("%d files of rules, %v", len(rules), err)
	}
}
