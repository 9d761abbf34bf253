package loadgen

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/sim"
)

// line writes a series with its labels, in pairs.
func line(d metric.Definer, value string, labels ...string) string {
	var pairs []string
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, labels[i]+`="`+labels[i+1]+`"`)
	}
	return d.Def().Name + "{" + strings.Join(pairs, ",") + "} " + value + "\n"
}

func kvSize(tier, bytes string) string {
	return line(metric.KVBMConfiguredCacheBytes, bytes, "pid", "7", "comm", "VLLM::EngineCor", "cgroup", "/", "tier", tier)
}

func kvUp(value string) string { return line(metric.KVBMUp, value, "source", "127.0.0.1:6880") }

func kvMode(mode string) string { return line(metric.ExporterMode, "1", "mode", mode) }

func TestOtherTiersThanExpectedMakeTheRunInvalid(t *testing.T) {
	t.Parallel()
	page := kvMode(metric.ModeLive) + kvUp("1") + kvSize("host", "2e10")
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	defer exporter.Close()
	url := engine(t, 100*time.Microsecond)
	args := []string{"--url", url, "--requests=3", "--warmup=0", "--output-tokens=4", "--telemetry=spark1=" + exporter.URL, "--telemetry-interval=100ms", "--validity=telemetry_lost=off"}
	for expected, want := range map[string]int{"kv=cpu_only": exitDone, "kv=cpu_disk": exitInvalid} {
		code, dir, _, stderr := invoke(t, t.Context(), append(args, "--expect="+expected)...)
		if code != want || (want == exitInvalid) != strings.Contains(stderr, "kv_mode_mismatch") {
			t.Errorf("%s: exit %d: %s", expected, code, stderr)
		}
		if s := summaryOf(t, dir); !slices.Contains(s.Checked, "kv_mode") {
			t.Errorf("%s: checked %v", expected, s.Checked)
		}
	}
}

func TestTheTiersOfASimulatedEngineAreFoundOnItsPageOfKVBM(t *testing.T) {
	t.Parallel()
	engine, url := simulated(t, func(c *sim.Config) {
		c.Vendor, c.KV.HostBytes, c.KV.DiskBytes, c.KV.DiskFilter = sim.Dynamo, 16<<30, 64<<30, false
	})
	page := httptest.NewServer(engine.KVBMHandler())
	defer page.Close()
	args := []string{"--url", url, "--requests=3", "--warmup=0", "--output-tokens=4", "--scrape=kvbm=" + page.URL, "--telemetry-interval=100ms", "--validity=telemetry_lost=off"}
	for expected, want := range map[string]int{"kv=cpu_disk": exitDone, "kv=cpu_only": exitInvalid, "kv=off": exitInvalid} {
		code, dir, _, stderr := invoke(t, t.Context(), append(args, "--expect="+expected)...)
		if code != want || (want == exitInvalid) != strings.Contains(stderr, "kv_mode_mismatch") {
			t.Errorf("%s: exit %d: %s", expected, code, stderr)
		}
		if s := summaryOf(t, dir); !slices.Contains(s.Checked, "kv_mode") {
			t.Errorf("%s: checked %v", expected, s.Checked)
		}
	}
}
