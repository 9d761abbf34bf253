package exporter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/recorder"
)

// wedged writes a ring whose last boot filled its memory until its records end, ten minutes ago: 90 records and a start.
func wedged(t *testing.T, machine string) string {
	t.Helper()
	folder := t.TempDir()
	ring, _, err := recorder.Open(folder, "before")
	must(t, err)
	defer ring.Close()
	last := time.Now().Add(-10 * time.Minute).UnixMilli()
	record := func(second int64, r recorder.Record) {
		r.Machine, r.Boot, r.PID = machine, "before", 812
		r.MonotonicMS, r.UnixMS = 500_000+second*1000, last+(second-90)*1000
		_, err := ring.Append(r)
		must(t, err)
	}
	record(0, recorder.Record{Start: &recorder.Start{Version: "v1"}})
	for second := int64(1); second <= 90; second++ {
		const gib = 1 << 30
		pool := uint64(120 * gib)
		free := pool - uint64(second*13*gib/10)
		held, kv, busy, watts, stalled := uint64(second*gib), float64(second)/100, 0.97, 61.4, float64(second)/10
		s := recorder.Sample{
			Memory:  &recorder.Memory{Pool: pool, Free: &free, Available: &free, Lines: ledger.Ledger{"gpu_process": float64(held), "free": float64(free), "anon": float64(pool - held - free)}},
			Holders: []recorder.Holder{{PID: 4711, Comm: "VLLM::\x1b[31mEngine", Bytes: &held}}, Groups: []recorder.Group{{Cgroup: "/system.slice/docker-1.scope", Bytes: gib}},
			GPUs:    []recorder.GPU{{Utilization: &busy, Watts: &watts, HeldBytes: &held, Reasons: []string{"sw_power_cap"}}},
			Engines: []recorder.Engine{{Source: "127.0.0.1:8000/metrics", Model: "qwen", KVRatio: &kv}}, Pressure: map[string]recorder.Pressure{"memory": {Full: &stalled}}, KernelRead: true,
		}
		if second == 89 {
			s.Kernel = []recorder.KernelLine{{MonotonicMS: 588_700, Text: "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY]", Driver: true}}
		}
		record(second, recorder.Record{Sample: &s})
	}
	return folder
}

func machineHash(t *testing.T) string {
	t.Helper()
	identity, err := recorder.Identify(hostfs.Dir{Path: "/proc"}, machineIDFile)
	must(t, err)
	return identity.Machine
}

func lastBootOf(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), append([]string{"explain", "--last-boot"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestTheLastMinuteOfABootIsOnePageThatBeginsWithHowItEnded(t *testing.T) {
	folder := wedged(t, machineHash(t))
	code, page, stderr := lastBootOf(t, "--recorder.folder="+folder)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	t.Log("\n" + page)
	if !strings.HasPrefix(page, "The machine probably stopped without a shutdown, after errors of NVIDIA's driver.") {
		t.Errorf("it begins %.120q", page)
	}
	wantIn(t, page, "likely: driver_errors; last record ", "there is no record of a stop, and the next record is of another boot",
		"1.3s before the last record the kernel wrote: NVRM: nvCheckOkFailedNoLog",
		"      0      3.00    117.00     90.00     10%", "97%", "90%\n", "   -60     81.00     39.00     30.00       -", "   -55 ", "   -10 ", "    -9 ",
		"where the pool of 120.00 GiB was", "GPU-held 90.00, anonymous 27.00, free 3.00", "90.00 GiB of GPU 0 held by VLLM::", "1.00 GiB charged to /system.slice/docker-1.scope",
		"90% of the KV cache of qwen at 127.0.0.1:8000/metrics", "GPU 0: clock held by sw_power_cap", "    -1.3  NVRM: nvCheckOkFailedNoLog")
	wantNotIn(t, page, "\x1b", "   -59 ")
	if n := strings.Count(page, "\n"); n > 60 {
		t.Errorf("%d lines are more than a page", n)
	}
}

func TestTheSameIsJSONAndOfARunningExporter(t *testing.T) {
	folder := wedged(t, machineHash(t))
	code, text, _ := lastBootOf(t, "--json", "--recorder.folder="+folder)
	var report recorder.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil || code != 0 || report.Schema != "umascope.last-boot/1" || report.Boot.End != recorder.EndDriverErrors || len(report.Boot.Records) != 61 {
		t.Errorf("exit %d, %v: %.300s", code, err, text)
	}
	for name, answer := range map[string]struct {
		status     int
		kind, body string
		says       string
	}{
		"running":   {200, "application/json", text, "likely: driver_errors"},
		"off":       {404, "text/plain", "nothing is recorded", "there is no such page"},
		"other":     {200, "application/json", "{}", "not one of this uma-exporter"},
		"no answer": {200, "text/html", "<html>", "not JSON"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != lastBootJSONPath {
				t.Errorf("%s: %s is asked for", name, r.URL.Path)
			}
			w.Header().Set("Content-Type", answer.kind)
			w.WriteHeader(answer.status)
			fmt.Fprint(w, answer.body)
		}))
		code, stdout, stderr := lastBootOf(t, "--url="+server.URL)
		server.Close()
		if (code == 0) != (name == "running") || !strings.Contains(stdout+stderr, answer.says) || strings.Count(stderr, "\n") > 1 {
			t.Errorf("%s: exit %d, %.200s%s", name, code, stdout, stderr)
		}
	}
}

func TestARingThatTellsNothingOfThisMachineIsOneLine(t *testing.T) {
	damaged := wedged(t, "")
	text, err := os.ReadFile(filepath.Join(damaged, recorder.RingFile))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(damaged, recorder.RingFile), bytes.Replace(text, []byte("UMAREC"), []byte("umarec"), -1), 0o600))
	empty := t.TempDir()
	ring, _, err := recorder.Open(empty, "x")
	must(t, err)
	must(t, ring.Close())
	folders := map[string]string{damaged: "it is damaged: no record in it is whole", empty: "it has no record yet", t.TempDir(): "nothing was recorded there. The flight recorder is off by default: uma-exporter --recorder starts it"}
	if machineHash(t) != "" {
		folders[wedged(t, "another")] = "its records are of another machine"
	}
	for folder, says := range folders {
		code, stdout, stderr := lastBootOf(t, "--recorder.folder="+folder)
		if code != exitInput || stdout != "" || stderr != "uma-exporter: --last-boot: "+folder+": "+says+"\n" {
			t.Errorf("exit %d: %s%s; want %q", code, stdout, stderr, says)
		}
	}
}
