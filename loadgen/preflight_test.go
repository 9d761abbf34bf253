package loadgen

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// preflightPlan has what a preflight checks: one arm that can start, one with two faults, one that may be missing.
const preflightPlan = `schema: umascope.plan/1
name: p
models: [{name: m, values: {weights: %[1]s}}]
arms:
  - {name: good, processes: [{name: engine, argv: [sh, -c, "exit 1", --model, "{{.weights}}"], ready: {port: %[2]s}}]}
  - {name: bad, processes: [{name: engine, argv: [no-such-engine]}, {name: proxy, argv: [sh, serve, "{{.weights}}/nothing"]}]}
  - {name: rare, optional: true, processes: [{name: engine, argv: [no-such-either]}]}
scenarios: [{name: s, run: {requests: 1}}]
flags: {url: "http://127.0.0.1:%[2]s"}
iterations: 1
gates: {gpu_celsius: 45, mem_free: 1B, off: [cooldown, cpu_ratio, mem_free_within]}
checks: [{name: speed, argv: [no-such-bench]}]
telemetry: ["spark=%[3]s"]
`

// TestEveryFaultOfAPlanIsShownBeforeTheFirstSlot: a night is lost by the first of them, and another by the second.
func TestEveryFaultOfAPlanIsShownBeforeTheFirstSlot(t *testing.T) {
	dir := t.TempDir()
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "uma_exporter_mode{mode=\"live\"} 1\numa_gpu_temperature_celsius{uuid=\"a\"} 62\numa_memory_cuda_free_bytes 5e9\n")
	}))
	defer exporter.Close()
	port := freePort(t)
	path := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, preflightPlan, dir, port, exporter.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	run := []string{"campaign", "run", path, "--out", filepath.Join(dir, "runs")}
	code, stdout, stderr := invokeVerb(t, append(run, "--dry-run")...)
	if code != exitDone || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	rows := strings.Split(stdout, "\n")
	for i := range rows {
		rows[i] = strings.Join(strings.Fields(rows[i]), " ")
	}
	for _, want := range []string{
		"preflight: 4 fails, 1 waits, 8 ok", "result of check found", "ok campaign root not needed", "fails campaign program no-such-bench of check speed exec: \"no-such-bench\": executable file not found in $PATH",
		"ok campaign telemetry: spark answers", "ok good: engine program sh /", "ok good: engine model " + dir + " is there", "ok good: engine port 127.0.0.1:" + port + " free",
		"fails bad: engine program no-such-engine exec: ", "fails bad: proxy model " + dir + "/nothing does not exist",
		"fails rare: engine (optional) program no-such-either exec: ", "waits campaign gate gpu_celsius GPU temperature 62 C, gate 45 C", "ok campaign gate mem_free MemFree 4.66 GiB, gate at least 1 B",
	} {
		if !strings.Contains(strings.Join(rows, "\n"), "\n"+want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	code, stdout, stderr = invokeVerb(t, run...)
	if code != exitUsage || stdout != "" || !strings.HasSuffix(stderr, "uma-load: preflight: 3 checks fail; nothing is started\n") || strings.Count(stderr, "\n") != 5 || strings.Contains(stderr, "no-such-either") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
		t.Error("a folder is left")
	}
	code, _, stderr = invokeVerb(t, append(run, "--only", "arm=good")...)
	if code != exitUsage || !strings.HasPrefix(stderr, "uma-load: preflight: campaign: program no-such-bench of check speed: exec: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
