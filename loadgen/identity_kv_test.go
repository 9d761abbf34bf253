package loadgen

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/telemetry"
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

func kvBlocks(op, from, to, blocks string) string {
	return line(metric.KVBMBlocksTotal, blocks, "source", "127.0.0.1:6880", "op", op, "from", from, "to", to)
}

func kvHit(tier, result, tokens string) string {
	return line(metric.EnginePrefixCacheTokensTotal, tokens, "source", "127.0.0.1:8000", "model", "m", "tier", tier, "result", result)
}

func kvUp(value string) string { return line(metric.KVBMUp, value, "source", "127.0.0.1:6880") }

func kvMode(mode string) string { return line(metric.ExporterMode, "1", "mode", mode) }

// sampled is what telemetry keeps of an exporter with this page.
func sampled(t *testing.T, page string) *telemetry.Log { return sampledAs(t, page, false) }

func sampledAs(t *testing.T, page string, foreign bool) *telemetry.Log {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	defer server.Close()
	file := filepath.Join(t.TempDir(), fileTelemetry)
	start := time.Now()
	sampler, err := telemetry.Start(t.Context(), telemetry.Options{
		Sources: []telemetry.Source{{Name: "spark1", URL: server.URL, Foreign: foreign}}, Interval: telemetry.MinInterval,
		File: file, Clock: func() int64 { return int64(time.Since(start)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	sampler.Mark(phaseMeasure)
	if _, err := sampler.Stop(); err != nil {
		t.Fatal(err)
	}
	log, err := telemetry.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestKVTiersAreSeenAndNotBelieved(t *testing.T) {
	disk := line(metric.KVBMDiskFileBytes, "5e10", "pid", "7", "comm", "c", "cgroup", "/", "path", "/kv")
	for name, c := range map[string]struct {
		page string
		mode string // "" is unknown
		// refuted are the expectations that are a mismatch.
		refuted []kvExpectation
	}{
		"no telemetry of it":             {"", "", nil},
		"nobody listens":                 {kvUp("0"), "off", []kvExpectation{kvCPUOnly, kvCPUDisk}},
		"somebody listens":               {kvUp("1"), "", []kvExpectation{kvOff}},
		"both turned off":                {kvUp("1") + kvSize("host", "0") + kvSize("disk", "0"), "off", []kvExpectation{kvCPUOnly, kvCPUDisk}},
		"host only, by its size":         {kvUp("1") + kvSize("host", "2e10"), "cpu_only", []kvExpectation{kvOff, kvCPUDisk}},
		"host and disk, by their sizes":  {kvSize("host", "2e10") + kvSize("disk", "5e10"), "cpu_disk", []kvExpectation{kvOff, kvCPUOnly}},
		"host, and a disk file":          {kvSize("host", "2e10") + disk, "cpu_disk", []kvExpectation{kvOff, kvCPUOnly}},
		"sizes, but nobody listens":      {kvUp("0") + kvSize("host", "2e10") + kvSize("disk", "5e10"), "cpu_disk", []kvExpectation{kvOff, kvCPUOnly}},
		"blocks to host and disk":        {kvBlocks("offload", "device", "host", "9") + kvBlocks("offload", "host", "disk", "4"), "cpu_disk", []kvExpectation{kvOff, kvCPUOnly}},
		"blocks to host, disk not known": {kvUp("1") + kvBlocks("offload", "device", "host", "9"), "", []kvExpectation{kvOff}},
		"no blocks yet":                  {kvUp("1") + kvBlocks("offload", "device", "host", "0"), "", []kvExpectation{kvOff}},
		"disk without host":              {kvSize("host", "0") + kvSize("disk", "5e10"), "disk_only", []kvExpectation{kvOff, kvCPUOnly, kvCPUDisk}},
		"disk, host not known":           {disk, "", []kvExpectation{kvOff, kvCPUOnly}},
		"host, by the engine's hits":     {kvHit("host", "hit", "4096") + kvSize("disk", "0"), "cpu_only", []kvExpectation{kvOff, kvCPUDisk}},
		"misses are no hits":             {kvUp("0") + kvHit("none", "miss", "4096") + kvHit("host", "hit", "0"), "off", []kvExpectation{kvCPUOnly, kvCPUDisk}},
		"hits of a connector":            {kvUp("0") + kvHit("external", "hit", "4096"), "", []kvExpectation{kvOff}},
		"disk turned off, host unknown":  {kvSize("disk", "0"), "", []kvExpectation{kvCPUDisk}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := seeKV(sampled(t, c.page), false)
			if mode, _ := seen.mode(); mode != c.mode {
				t.Errorf("mode %q by %+v", mode, seen)
			}
			for _, expected := range []kvExpectation{kvOff, kvCPUOnly, kvCPUDisk} {
				judged := expected.judge(seen)
				refuted, kept := slices.Contains(c.refuted, expected), string(expected) == c.mode
				if (judged.Mismatch != "") != refuted || judged.Checked != (refuted || kept) {
					t.Errorf("%s: %+v", expected, judged)
				}
				if warned := len(expected.warnings(seen)) > 0; warned == judged.Checked {
					t.Errorf("%s: checked %v, warned %v", expected, judged.Checked, warned)
				}
			}
		})
	}
}

func TestKVTiersAreSeenOnKVBMsOwnPageByBothItsPrefixes(t *testing.T) {
	for _, prefix := range metric.ForeignKVBMPrefixes() {
		page := func(blocks map[string]string) string {
			text := ""
			for _, route := range metric.KVBMRoutes() {
				text += prefix + route.Blocks + " " + cmp.Or(blocks[route.Op+" "+route.From+" "+route.To], "0") + "\n"
			}
			return text
		}
		idle := seeKV(sampledAs(t, page(nil), true), false)
		if mode, _ := idle.mode(); mode != "" || kvOff.judge(idle).Mismatch == "" || kvCPUDisk.judge(idle).Checked {
			t.Errorf("%q, no block moved: %q, %+v", prefix, mode, idle)
		}
		// h2d of offloads is from host to disk, whatever its letters say.
		busy := seeKV(sampledAs(t, page(map[string]string{"offload device host": "9", "offload host disk": "4"}), true), false)
		if mode, because := busy.mode(); mode != string(kvCPUDisk) || !strings.Contains(because, "from host to disk") {
			t.Errorf("%q: %q by %s", prefix, mode, because)
		}
	}
}

func TestTiersOfAnotherMachineAreNotThoseOfTheRun(t *testing.T) {
	for mode, c := range map[string]struct{ real, simulated string }{
		metric.ModeLive:        {"off", "off"},
		metric.ModeSimulated:   {"", "off"},
		metric.ModeReplay:      {"", ""},
		metric.ModeConstructed: {"", ""},
	} {
		log := sampled(t, kvMode(mode)+kvUp("0"))
		real, _ := seeKV(log, false).mode()
		simulated, _ := seeKV(log, true).mode()
		if real != c.real || simulated != c.simulated {
			t.Errorf("%s: %q, and %q for a simulated engine", mode, real, simulated)
		}
	}
}

func TestWithoutAnExpectationNothingIsSaidOfKVTiers(t *testing.T) {
	seen := seeKV(nil, false)
	if judged := kvExpectation("").judge(seen); judged != (report.KVMode{}) || kvExpectation("").warnings(seen) != nil {
		t.Errorf("%+v", judged)
	}
	if judged := kvCPUDisk.judge(seen); judged.Checked || len(kvCPUDisk.warnings(seen)) != 1 {
		t.Errorf("no telemetry: %+v", judged)
	}
}

func TestTheExpectationOfKVTiersIsOneOfThree(t *testing.T) {
	for _, text := range []string{"kv=off", "kv=cpu_only", "kv=cpu_disk"} {
		if got, err := parseExpect(text); err != nil || "kv="+string(got) != text {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "kv", "kv=", "kv=on", "kv=disk_only", "gpu=off"} {
		if got, err := parseExpect(text); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestOtherTiersThanExpectedMakeTheRunInvalid(t *testing.T) {
	page := kvMode(metric.ModeLive) + kvUp("1") + kvSize("host", "2e10")
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	defer exporter.Close()
	url := engine(t, 100*time.Microsecond)
	args := []string{"--url", url, "--requests=3", "--warmup=0", "--output-tokens=4", "--telemetry=spark1=" + exporter.URL, "--telemetry-interval=100ms", "--validity=telemetry_lost=off"}
	for expected, want := range map[string]int{"kv=cpu_only": exitDone, "kv=cpu_disk": exitInvalid} {
		code, folder, _, stderr := invoke(t, t.Context(), append(args, "--expect="+expected)...)
		if code != want || (want == exitInvalid) != strings.Contains(stderr, "kv_mode_mismatch") {
			t.Errorf("%s: exit %d: %s", expected, code, stderr)
		}
		if s := read[report.Summary](t, filepath.Join(folder, fileSummary)); !slices.Contains(s.Checked, "kv_mode") {
			t.Errorf("%s: checked %v", expected, s.Checked)
		}
	}
}

func TestTheTiersOfASimulatedEngineAreFoundOnItsPageOfKVBM(t *testing.T) {
	engine, url := simulated(t, func(c *sim.Config) {
		c.Vendor, c.KV.HostBytes, c.KV.DiskBytes, c.KV.DiskFilter = sim.Dynamo, 16<<30, 64<<30, false
	})
	page := httptest.NewServer(engine.KVBMHandler())
	defer page.Close()
	args := []string{"--url", url, "--requests=3", "--warmup=0", "--output-tokens=4", "--scrape=kvbm=" + page.URL, "--telemetry-interval=100ms", "--validity=telemetry_lost=off"}
	for expected, want := range map[string]int{"kv=cpu_disk": exitDone, "kv=cpu_only": exitInvalid, "kv=off": exitInvalid} {
		code, folder, _, stderr := invoke(t, t.Context(), append(args, "--expect="+expected)...)
		if code != want || (want == exitInvalid) != strings.Contains(stderr, "kv_mode_mismatch") {
			t.Errorf("%s: exit %d: %s", expected, code, stderr)
		}
		if s := read[report.Summary](t, filepath.Join(folder, fileSummary)); !slices.Contains(s.Checked, "kv_mode") {
			t.Errorf("%s: checked %v", expected, s.Checked)
		}
	}
}
