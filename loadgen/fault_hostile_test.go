package loadgen

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/xuri/excelize/v2"
)

// Text that somebody else chose: markup, a terminal's escapes, the borders of tables, a formula, and
// a turn of the reading direction. A label of the command line may have no control characters.
const (
	hostileLabel = `=cmd|' /C calc'!A0<script>alert(1)</script>` + "`x`[y](javascript:z)"
	hostileText  = hostileLabel + "\x1b[31m\x07\u202e\r\n| a | b |\n# c"
)

// hostileServer puts hostile text wherever a server has its say, and refuses every third request.
func hostileServer(t *testing.T) *httptest.Server {
	t.Helper()
	quoted, err := json.Marshal(hostileText)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(string(quoted), `"`), `"`)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", hostileLabel)
		w.Header().Set("Server", hostileLabel)
		switch {
		case r.URL.Path == "/v1/models":
			fmt.Fprintf(w, `{"data":[{"id":"%[1]s","owned_by":"%[1]s","root":"%[1]s"}]}`, name)
		case r.URL.Path == "/version":
			fmt.Fprintf(w, `{"version":"%s"}`, name)
		case !strings.HasPrefix(r.URL.Path, "/v1/"):
			http.NotFound(w, r)
		case r.ContentLength > longestProbe && asked.Add(1)%3 == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"error":{"message":"%[1]s","code":"%[1]s"}}`, name)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"id\":\"%[1]s\",\"model\":\"%[1]s\",\"system_fingerprint\":\"%[1]s\",\"choices\":[{\"delta\":{\"content\":\"%[1]s\"},\"finish_reason\":\"%[1]s\"}]}\n\n"+
				"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n", name)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// hostileExporter has hostile labels on its series.
func hostileExporter(t *testing.T) string {
	t.Helper()
	label := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(hostileText)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "uma_exporter_mode{mode=\"%[1]s\"} 1\numa_host_info{product=\"%[1]s\",vendor=\"%[1]s\"} 1\n"+
			"uma_gpu_info{uuid=\"%[1]s\",name=\"%[1]s\"} 1\numa_gpu_power_watts{uuid=\"%[1]s\"} 30\n"+
			"uma_memory_pool_bytes 100\numa_memory_ledger_bytes{line=\"%[1]s\"} 7\n"+
			"uma_gpu_process_memory_bytes{uuid=\"%[1]s\",pid=\"1\",comm=\"%[1]s\",cgroup=\"%[1]s\"} 1e9\n", label)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// controls matches what drives a terminal or turns a line around; line ends and tabs are text.
var controls = regexp.MustCompile(`[^\PC\n\t]|[\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

func TestHostileTextStaysTextInEveryOutput(t *testing.T) {
	prompts := filepath.Join(t.TempDir(), "prompts.json")
	conversation, err := json.Marshal([]any{map[string]any{"id": hostileText, "messages": []any{
		map[string]string{"role": "user", "content": hostileText + strings.Repeat(" more", 400)},
		map[string]string{"role": "assistant", "content": hostileText},
		map[string]string{"role": "user", "content": hostileText},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, prompts, string(conversation))
	code, path, stdout, stderr := invoke(t, t.Context(), "--url", hostileServer(t).URL, "--telemetry=spark="+hostileExporter(t), "--telemetry-interval=100ms",
		"--scenario=multi_turn", "--prompts="+prompts, "--requests=9", "--warmup=3", "--label=arm="+hostileLabel, "--label=note="+hostileLabel,
		"--save-outputs", "--conversations", "--xlsx", "--csv", "--benchstat", "--capture=said=printf '\\033[31m<script>'")
	if code != exitInvalid {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	outputs := map[string]string{"stdout": stdout, "stderr": stderr}
	for _, name := range []string{"manifest.json", "phases.json", "summary.json", "schedule.jsonl", "requests.jsonl", "outputs.jsonl", "conversations.jsonl", "report.md", "report.html", "requests.csv", "summary.csv", "results.txt"} {
		text, err := os.ReadFile(filepath.Join(path, name))
		if err != nil {
			t.Error(err)
		}
		outputs[name] = string(text)
	}
	expectHarmless(t, outputs, "phases.json", "schedule.jsonl")
	expectNoFormulaInWorkbook(t, filepath.Join(path, "results.xlsx"))
}

// expectHarmless looks through what was written and shown. All of it shows the text but what is silent.
func expectHarmless(t *testing.T, outputs map[string]string, silent ...string) {
	t.Helper()
	for name, text := range outputs {
		// JSON escapes what drives a terminal, and keeps a text as it was sent.
		data := strings.HasPrefix(filepath.Ext(name), ".json")
		if found := controls.FindString(text); found != "" && !(data && found >= " ") {
			t.Errorf("%s holds %q", name, found)
		}
		if !strings.Contains(text, "calc") && !slices.Contains(silent, name) {
			t.Errorf("%s does not show the text at all", name)
		}
		switch {
		case data:
			expectJSON(t, name, text)
		case strings.Contains(text, "<script>alert") && strings.HasPrefix(name, "report."), strings.Contains(text, "[y](javascript") && name == "report.md":
			t.Errorf("%s holds markup", name)
		case filepath.Ext(name) == ".csv":
			expectNoFormula(t, name, text)
		}
	}
}

func expectJSON(t *testing.T, name, text string) {
	t.Helper()
	for decoder := json.NewDecoder(strings.NewReader(text)); decoder.More(); {
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// isFormula reports whether a spreadsheet would compute a cell.
func isFormula(cell string) bool {
	return cell != "" && strings.ContainsAny(cell[:1], "=+@\t\r") || strings.HasPrefix(cell, "-") && strings.ContainsFunc(cell, unicode.IsLetter)
}

func expectNoFormula(t *testing.T, name, text string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Errorf("%s: %d rows, %v", name, len(rows), err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if isFormula(cell) {
				t.Errorf("%s: cell %q", name, cell)
			}
		}
	}
}

func expectNoFormulaInWorkbook(t *testing.T, path string) {
	t.Helper()
	book, err := excelize.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	for _, tab := range book.GetSheetList() {
		rows, err := book.GetRows(tab)
		if err != nil || len(rows) < 2 {
			t.Errorf("%s: %d rows, %v", tab, len(rows), err)
		}
		for y, row := range rows {
			for x, cell := range row {
				at, err := excelize.CoordinatesToCellName(x+1, y+1)
				if err != nil {
					t.Fatal(err)
				}
				if of, err := book.GetCellFormula(tab, at); err != nil || of != "" || isFormula(cell) || controls.MatchString(cell) {
					t.Errorf("%s %s: %q, formula %q, %v", tab, at, cell, of, err)
				}
			}
		}
	}
}
