// Package hostile holds what the programs write and serve against text that others chose, and against
// secrets that they were given: whatever verb there is, whatever file it writes.
package hostile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// mark is in everything that is hostile: where it stands as more than text, something got through.
const mark = "uma-evil"

// printable is what a command line accepts too, in at most 250 bytes: a formula, markup that ends what it may
// stand in, borders of tables, a link, a template, a path.
const printable = `=cmd|' /C calc'!A0 "><` + mark + ` ` + mark + `="' ` + mark + `='x</script></style></title><` + mark +
	" onclick=x>| a |`x` [y](javascript:" + mark + ") {{.}} $(id) /../../../../tmp/" + mark + ` \" #`

// hostile adds what a terminal obeys, ends of lines, a series for a page, keys of YAML, and a turn of the reading
// direction.
const hostile = printable + "</textarea></svg>&lt;" + mark + "&gt; ![z](x) ${HOME} \\u003c : - *\x1b[31m\x1b]0;owned\x07\x00\u009b2J\u202e\u2028\r\n" +
	"# heading\n- item\n=1+1\n@SUM(A1)\n| c | d |\n---\nkey: [value\numa_up 1\n"

// secrets are all that the programs are given, by how.
var secrets = map[string]string{
	"the environment's key":  "sk-environment-9c51e0b7a2",
	"a header":               "header-secret-9c51e0b7a2",
	"a query of telemetry":   "telemetry-secret-9c51e0b7a2",
	"a query of a page":      "page-secret-9c51e0b7a2",
	"a command":              "command-secret-9c51e0b7a2",
	"an address of notices":  "notices-secret-9c51e0b7a2",
	"another's environment":  "environ-secret-9c51e0b7a2",
	"another's command line": "argument-secret-9c51e0b7a2",
	"a file of another":      "contents-secret-9c51e0b7a2",
	"the environment's plan": "plan-secret-9c51e0b7a2",
}

// longestProbe is more than the bodies of requests have that are not part of a load, and less than those of one.
const longestProbe = 900

// quoted is a text inside the quotes of JSON.
func quoted(t *testing.T, text string) string {
	t.Helper()
	content, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(content), `"`), `"`)
}

// engine is a server that puts hostile text and what it was sent wherever it has its say. Of a bad one every
// fourth answer is an error of a megabyte, and every fourth has bytes that are no text.
func engine(t *testing.T, bad bool) string {
	t.Helper()
	name := quoted(t, hostile)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		output := strings.Join(r.Header["Authorization"], " ") + " " + r.Header.Get("X-Token")
		w.Header().Set("X-Request-Id", printable+output)
		w.Header().Set("Server", printable+output)
		switch {
		case r.URL.Path == "/v1/models":
			fmt.Fprintf(w, `{"data":[{"id":"%[1]s","owned_by":"%[1]s","root":"%[1]s%[2]s"}]}`, name, output)
		case r.URL.Path == "/version":
			fmt.Fprintf(w, `{"version":"%s%s"}`, name, output)
		case !strings.HasPrefix(r.URL.Path, "/v1/"):
			http.Error(w, hostile+output, http.StatusNotFound)
		case bad && r.ContentLength > longestProbe && asked.Add(1)%4 == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"error":{"message":"%[1]s%[2]s%[3]s","code":"%[1]s"}}`, name, output, strings.Repeat("A", 1<<20))
		case bad && r.ContentLength > longestProbe && asked.Load()%4 == 3:
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "\xff\xfe", hostile, output)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"id\":\"%[1]s%[2]s\",\"model\":\"%[1]s\",\"system_fingerprint\":\"%[1]s\",\"choices\":[{\"delta\":{\"content\":\"%[1]s\"},\"finish_reason\":\"%[1]s\"}]}\n\n"+
				"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n", name, output)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// page serves series with hostile label values: of an exporter, and of engines and KVBM.
func page(t *testing.T) string {
	t.Helper()
	label := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(hostile)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "uma_exporter_build_info{version=\"%[1]s\"} 1\numa_exporter_mode{mode=\"%[1]s\"} 1\numa_host_info{product=\"%[1]s\",vendor=\"%[1]s\"} 1\n"+
			"uma_gpu_info{uuid=\"%[1]s\",name=\"%[1]s\"} 1\numa_gpu_power_watts{uuid=\"%[1]s\"} 30\numa_memory_pool_bytes 100\numa_memory_ledger_bytes{line=\"%[1]s\"} 7\n"+
			"uma_gpu_process_memory_bytes{uuid=\"%[1]s\",pid=\"1\",comm=\"%[1]s\",cgroup=\"%[1]s\"} 1e9\n"+
			"uma_nvme_temperature_celsius{device=\"%[1]s\",sensor=\"%[1]s\"} 40\numa_network_receive_bytes_total{device=\"%[1]s\"} 1\n"+
			"vllm:num_requests_running{model_name=\"%[1]s\"} 1\nvllm:kv_cache_usage_perc{model_name=\"%[1]s\"} 0.5\nkvbm_offload_blocks_h2d{model=\"%[1]s\"} 3\n", label)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// file writes a file and returns its path.
func file(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}
