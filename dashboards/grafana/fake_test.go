package grafana

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a Prometheus that answers every question with the same series and remembers the questions.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	heard []string
}

const hostile = `<script>alert(1)</script>"'` + "\\`"

func newFake(t *testing.T, handler func(w http.ResponseWriter, r *http.Request)) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		f.mu.Lock()
		f.heard = append(f.heard, r.Method+" "+r.URL.Path+" "+r.Form.Encode())
		f.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// answering gives each question an answer of its kind, of one host with a hostile name.
func answering(w http.ResponseWriter, r *http.Request) {
	labels := map[string]string{"host": hostile}
	var data any
	switch {
	case strings.HasSuffix(r.URL.Path, "/values"):
		data = []string{hostile}
	case strings.HasSuffix(r.URL.Path, "/query_range"):
		data = map[string]any{"resultType": "matrix", "result": []any{map[string]any{
			"metric": labels, "values": []any{[]any{1700000000, "1"}, []any{1700000015.5, "NaN"}},
			"histograms": []any{[]any{1700000000, map[string]any{"count": "3", "sum": "1", "buckets": []any{[]any{0, "0.5", "1", "3"}}}}},
		}}}
	default:
		data = map[string]any{"resultType": "vector", "result": []any{map[string]any{"metric": labels, "value": []any{1700000000.123, "12.5"}}}}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data, "warnings": []string{"mind " + hostile}})
}

const board = `{"uid":"b","title":"Board <b>$host</b>","description":"<script>","schemaVersion":42,"tags":["t"],
"time":{"from":"now-30m","to":"now"},"links":[{"type":"dashboards","tags":["t"],"keepTime":true,"includeVars":true}],
"templating":{"list":[{"name":"host","type":"query","query":"label_values(up, host)"}]},
"annotations":{"list":[{"name":"runs","enable":true,"expr":"run{host=\"$host\"}","iconColor":"blue","titleFormat":"of {{host}}"},{"name":"off","expr":"never"}]},
"panels":[{"id":1,"type":"row","title":"Row"},
{"id":2,"type":"timeseries","title":"On $host","gridPos":{"x":0,"y":1,"w":12,"h":8},"fieldConfig":{"defaults":{"links":[{"url":"/d/c?v=${__value.raw}&${host:queryparam}"}]}},
"targets":[{"refId":"A","expr":"m{host=\"$host\"}","range":true,"legendFormat":"{{host}}"},{"refId":"B","expr":"rate(m[$__rate_interval])","instant":true,"format":"table"}]},
{"id":3,"type":"stat","title":"Refused","targets":[{"refId":"A","expr":"m{a="}]},
{"id":4,"type":"row","title":"More of $host","collapsed":true,"panels":[{"id":5,"type":"stat","title":"Inside","targets":[{"refId":"A","expr":"inside"}]}]}]}`

// folder has the board and another of the same tag.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	other := `{"uid":"c","title":"Other","schemaVersion":42,"tags":["t"],"time":{"from":"now-1h","to":"now"}}`
	for name, content := range map[string]string{"b.json": board, "c.json": other} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, config PreviewConfig) http.Handler {
	t.Helper()
	if config.Dashboards == nil {
		config.Dashboards = os.DirFS(folder(t))
	}
	handler, err := NewPreview(config)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// get asks a handler as a browser on this machine does.
func get(t *testing.T, handler http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:10429"+path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
		request.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

// lines are the parts of an answer, by kind and id.
func lines(t *testing.T, body string) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
		var part map[string]any
		if err := json.Unmarshal([]byte(line), &part); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		name := fmt.Sprint(part["kind"])
		if id, has := part["id"]; has {
			name += fmt.Sprint(id)
		}
		found[name] = part
	}
	return found
}

// at follows a path into an answer.
func at(t *testing.T, tree any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch s := step.(type) {
		case string:
			node, is := tree.(map[string]any)
			if !is {
				t.Fatalf("no %q in %v", s, tree)
			}
			tree = node[s]
		case int:
			list, is := tree.([]any)
			if !is || s >= len(list) {
				t.Fatalf("no %d in %v", s, tree)
			}
			tree = list[s]
		}
	}
	return tree
}

// soon is a limit that tests need not wait for long.
const soon = 150 * time.Millisecond
