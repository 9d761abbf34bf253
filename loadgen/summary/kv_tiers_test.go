package summary

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

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
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

// kvLooked is what an exporter shows that may look into processes.
func kvLooked() string {
	return line(metric.ProcessIOBytesTotal, "9", "pid", "7", "comm", "VLLM::EngineCor", "cgroup", "/", "op", "read")
}

func kvMode(mode string) string { return line(metric.ExporterMode, "1", "mode", mode) }

// sampled is what telemetry keeps of an exporter with this page.
func sampled(t *testing.T, page string) *telemetry.Log { return sampledAs(t, page, false) }

func sampledAs(t *testing.T, page string, foreign bool) *telemetry.Log {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	defer server.Close()
	file := filepath.Join(t.TempDir(), rundir.TelemetryFile)
	start := time.Now()
	sampler, err := telemetry.Start(t.Context(), telemetry.Options{
		Engines: supported.Engines(),
		Sources: []telemetry.Source{{Name: "spark1", URL: server.URL, Foreign: foreign}}, Interval: telemetry.MinInterval,
		File: file, Clock: func() int64 { return int64(time.Since(start)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	sampler.Mark(rundir.PhaseMeasure)
	if _, err := sampler.Stop(); err != nil {
		t.Fatal(err)
	}
	log, err := telemetry.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	log.Engines = supported.Engines()
	return log
}

func TestKVTiersAreSeenAndNotBelieved(t *testing.T) {
	disk := line(metric.KVBMDiskFileBytes, "5e10", "pid", "7", "comm", "c", "cgroup", "/", "path", "/kv")
	for name, c := range map[string]struct {
		page string
		mode string // "" is unknown
		// refuted are the expectations that are a mismatch.
		refuted []KVExpectation
	}{
		"no telemetry of it":             {"", "", nil},
		"nobody listens, none has any":   {kvUp("0") + kvLooked(), "off", []KVExpectation{KVCPUOnly, KVCPUDisk}},
		"a page that may just be off":    {kvUp("0"), "", nil},
		"processes, but no page to look": {kvLooked(), "", nil},
		"somebody listens":               {kvUp("1"), "", []KVExpectation{KVOff}},
		"both turned off":                {kvUp("1") + kvSize("host", "0") + kvSize("disk", "0"), "off", []KVExpectation{KVCPUOnly, KVCPUDisk}},
		"host only, by its size":         {kvUp("1") + kvSize("host", "2e10"), "cpu_only", []KVExpectation{KVOff, KVCPUDisk}},
		"host and disk, by their sizes":  {kvSize("host", "2e10") + kvSize("disk", "5e10"), "cpu_disk", []KVExpectation{KVOff, KVCPUOnly}},
		"host, and a disk file":          {kvSize("host", "2e10") + disk, "cpu_disk", []KVExpectation{KVOff, KVCPUOnly}},
		"sizes, but nobody listens":      {kvUp("0") + kvSize("host", "2e10") + kvSize("disk", "5e10"), "cpu_disk", []KVExpectation{KVOff, KVCPUOnly}},
		"blocks to host and disk":        {kvBlocks("offload", "device", "host", "9") + kvBlocks("offload", "host", "disk", "4"), "cpu_disk", []KVExpectation{KVOff, KVCPUOnly}},
		"blocks to host, disk not known": {kvUp("1") + kvBlocks("offload", "device", "host", "9"), "", []KVExpectation{KVOff}},
		"no blocks yet":                  {kvUp("1") + kvBlocks("offload", "device", "host", "0"), "", []KVExpectation{KVOff}},
		"disk without host":              {kvSize("host", "0") + kvSize("disk", "5e10"), "disk_only", []KVExpectation{KVOff, KVCPUOnly, KVCPUDisk}},
		"disk, host not known":           {disk, "", []KVExpectation{KVOff, KVCPUOnly}},
		"host, by the engine's hits":     {kvHit("host", "hit", "4096") + kvSize("disk", "0"), "cpu_only", []KVExpectation{KVOff, KVCPUDisk}},
		"misses are no hits":             {kvUp("0") + kvLooked() + kvHit("none", "miss", "4096") + kvHit("host", "hit", "0"), "off", []KVExpectation{KVCPUOnly, KVCPUDisk}},
		"hits of a connector":            {kvUp("0") + kvLooked() + kvHit("external", "hit", "4096"), "", []KVExpectation{KVOff}},
		"disk turned off, host unknown":  {kvSize("disk", "0"), "", []KVExpectation{KVCPUDisk}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := SeeKVTiers(sampled(t, c.page), false)
			if mode, _ := seen.mode(); mode != c.mode {
				t.Errorf("mode %q by %+v", mode, seen)
			}
			for _, expected := range []KVExpectation{KVOff, KVCPUOnly, KVCPUDisk} {
				judged := expected.Judge(seen)
				refuted, kept := slices.Contains(c.refuted, expected), string(expected) == c.mode
				if (judged.Mismatch != "") != refuted || judged.Checked != (refuted || kept) {
					t.Errorf("%s: %+v", expected, judged)
				}
				if warned := len(expected.Warnings(seen)) > 0; warned == judged.Checked {
					t.Errorf("%s: checked %v, warned %v", expected, judged.Checked, warned)
				}
			}
		})
	}
}

func TestKVTiersAreSeenOnKVBMsOwnPageByBothItsPrefixes(t *testing.T) {
	for _, prefix := range dynamo.KVBMPrefixes() {
		page := func(blocks map[string]string) string {
			text := ""
			for _, route := range dynamo.KVBMRoutes() {
				text += prefix + route.Blocks + " " + cmp.Or(blocks[route.Op+" "+route.From+" "+route.To], "0") + "\n"
			}
			return text
		}
		idle := SeeKVTiers(sampledAs(t, page(nil), true), false)
		if mode, _ := idle.mode(); mode != "" || KVOff.Judge(idle).Mismatch == "" || KVCPUDisk.Judge(idle).Checked {
			t.Errorf("%q, no block moved: %q, %+v", prefix, mode, idle)
		}
		// h2d of offloads is from host to disk, whatever its letters say.
		busy := SeeKVTiers(sampledAs(t, page(map[string]string{"offload device host": "9", "offload host disk": "4"}), true), false)
		if mode, because := busy.mode(); mode != string(KVCPUDisk) || !strings.Contains(because, "from host to disk") {
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
		log := sampled(t, kvMode(mode)+kvUp("0")+kvLooked())
		real, _ := SeeKVTiers(log, false).mode()
		simulated, _ := SeeKVTiers(log, true).mode()
		if real != c.real || simulated != c.simulated {
			t.Errorf("%s: %q, and %q for a simulated engine", mode, real, simulated)
		}
	}
}

func TestWithoutAnExpectationThereIsNoFindingAboutKVTiers(t *testing.T) {
	seen := SeeKVTiers(nil, false)
	if judged := KVExpectation("").Judge(seen); judged != (rundir.KVFindings{}) || KVExpectation("").Warnings(seen) != nil {
		t.Errorf("%+v", judged)
	}
	if judged := KVCPUDisk.Judge(seen); judged.Checked || len(KVCPUDisk.Warnings(seen)) != 1 {
		t.Errorf("no telemetry: %+v", judged)
	}
}

func TestTheExpectationOfKVTiersIsOneOfThree(t *testing.T) {
	for _, text := range []string{"kv=off", "kv=cpu_only", "kv=cpu_disk"} {
		if got, err := ParseKVExpectation(text); err != nil || "kv="+string(got) != text {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "kv", "kv=", "kv=on", "kv=disk_only", "gpu=off"} {
		if got, err := ParseKVExpectation(text); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}
