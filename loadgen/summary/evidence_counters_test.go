package summary

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// turned is the telemetry of an exporter and a page of KVBM that have one text when phase a begins and
// another when it ends; an empty one is an answer of 404.
func turned(t *testing.T, exporter, page [2]string) *telemetry.Log {
	t.Helper()
	return turnedPages(t, map[string][2]string{"spark": exporter}, page)
}

// turnedPages is of several exporters.
func turnedPages(t *testing.T, exporters map[string][2]string, page [2]string) *telemetry.Log {
	t.Helper()
	var at atomic.Int32
	serve := func(texts [2]string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text := texts[at.Load()]
			if text == "" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	file, start := filepath.Join(t.TempDir(), rundir.TelemetryFile), time.Now()
	seen := make(chan struct{}, 8)
	sources, answering := []telemetry.Source{{Name: "kvbm", URL: serve(page), Foreign: true}}, 0
	for name, exporter := range exporters {
		sources = append(sources, telemetry.Source{Name: name, URL: serve(exporter)})
		if exporter[0] != "" {
			answering++
		}
	}
	if page[0] != "" {
		answering++
	}
	sampler, err := telemetry.Start(t.Context(), telemetry.Options{
		Engines:  supported.Engines(),
		Sources:  sources,
		Interval: telemetry.MaxInterval, File: file, Clock: func() int64 { return int64(time.Since(start)) },
		Page: func(string, int, string, []byte) { seen <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	sampler.Mark("a")
	for range answering {
		<-seen
	}
	at.Store(1)
	sampler.Mark("b")
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

func kvbmPage(d2d, h2d, matched string) string {
	return "# TYPE kvbm_onboard_blocks_d2d counter\nkvbm_onboard_blocks_d2d " + d2d + "\n# TYPE kvbm_onboard_blocks_h2d counter\nkvbm_onboard_blocks_h2d " + h2d +
		"\n# TYPE kvbm_matched_tokens counter\nkvbm_matched_tokens " + matched + "\n"
}

func TestBlocksAreReadByKVBMsNamesAndTheExporters(t *testing.T) {
	live := kvMode(metric.ModeLive)
	ours := func(blocks, bytes string) string {
		return live + kvBlocks("onboard", "disk", "device", blocks) + kvBlocks("onboard", "host", "device", "5") +
			line(metric.KVBMBytesTotal, bytes, "source", "127.0.0.1:6880", "op", "onboard", "from", "disk", "to", "device")
	}
	second := func(disk, device string) string {
		return live + kvBlocks("onboard", "disk", "host", disk) + kvBlocks("onboard", "host", "device", device)
	}
	of := func(mode, blocks string) string { return kvMode(mode) + kvBlocks("onboard", "disk", "device", blocks) }
	plain := [2]string{live, live}
	for name, c := range map[string]struct {
		exporter, page    [2]string
		fromDisk, host    float64
		block             float64
		seen, gone, reset bool
	}{
		"the page":             {exporter: plain, page: [2]string{kvbmPage("1", "2", "3"), kvbmPage("11", "9", "40")}, fromDisk: 10, host: 7, seen: true},
		"the exporter":         {exporter: [2]string{ours("10", "1000"), ours("30", "3000")}, fromDisk: 20, block: 100, seen: true},
		"version 2":            {exporter: [2]string{second("0", "0"), second("8", "11")}, fromDisk: 8, host: 3, seen: true},
		"both, counted once":   {exporter: [2]string{ours("10", "1000"), ours("30", "3000")}, page: [2]string{kvbmPage("10", "0", "0"), kvbmPage("30", "0", "0")}, fromDisk: 20, block: 100, seen: true},
		"its series went away": {exporter: plain, page: [2]string{kvbmPage("1", "2", "3"), "other 1\n"}, gone: true},
		"the page went away":   {exporter: plain, page: [2]string{kvbmPage("1", "2", "3"), ""}, gone: true},
		"another counter fell": {exporter: plain, page: [2]string{kvbmPage("0", "9", "900"), kvbmPage("20", "1", "40")}, fromDisk: 20, host: 1, seen: true, reset: true},
		"nobody has any":       {exporter: plain},
		"a recording":          {exporter: [2]string{of(metric.ModeReplay, "1"), of(metric.ModeReplay, "9")}},
		"a simulated machine":  {exporter: [2]string{of(metric.ModeSimulated, "1"), of(metric.ModeSimulated, "9")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := counters{turned(t, c.exporter, c.page), false, []string{"spark"}}.moved([]string{"a"})
			if got.Seen != c.seen || got.Gone != c.gone || got.BlockBytes != c.block || got.FromDisk.Reset != c.reset {
				t.Errorf("%+v", got)
			}
			if c.seen && (got.FromDisk.Value != c.fromDisk || got.FromHost.Value != c.host) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The four samples are read off the page as a run would: t2 to t3 is the replay, whose letters h2d mean
// the disk when blocks go down and the host when they come back.
func TestFourSamplesAreReadFromThePage(t *testing.T) {
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "evidence", "testdata", "kvbm_metrics_v1_"+name+".prom"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	known := func(value float64) evidence.Count { return evidence.Count{Value: value, Known: true} }
	for _, c := range []struct {
		from, to string
		want     evidence.Moved
	}{
		{"t0", "t1", evidence.Moved{Seen: true, FromDisk: known(0), FromHost: known(0), ToDisk: known(1856), ToHost: known(3904), MatchedTokens: known(0)}},
		{"t1", "t2", evidence.Moved{Seen: true, FromDisk: known(0), FromHost: known(64), ToDisk: known(7616), ToHost: known(7936), MatchedTokens: known(2048)}},
		{"t2", "t3", evidence.Moved{Seen: true, FromDisk: known(3152), FromHost: known(448), ToDisk: known(512), ToHost: known(448), MatchedTokens: known(115200)}},
	} {
		for _, prefix := range dynamo.KVBMPrefixes() {
			pages := [2]string{strings.ReplaceAll(page(c.from), "kvbm_", prefix+"kvbm_"), strings.ReplaceAll(page(c.to), "kvbm_", prefix+"kvbm_")}
			if got := (counters{turned(t, [2]string{}, pages), false, []string{"spark"}}).moved([]string{"a"}); got != c.want {
				t.Errorf("%s to %s as %skvbm_…: %+v, want %+v", c.from, c.to, prefix, got, c.want)
			}
		}
	}
}

// Only the first of several processes that have the tier open is shown for it, here the one that reads
// nothing.
func TestBytesAreThoseOfTheProcessesThatMayHaveTheTierOpen(t *testing.T) {
	process := func(pid, cgroup, bytes string) string {
		return line(metric.ProcessIOBytesTotal, bytes, "pid", pid, "comm", "c", "cgroup", cgroup, "op", "read")
	}
	cgroup := func(cgroup, device, bytes string) string {
		return line(metric.CgroupIOBytesTotal, bytes, "cgroup", cgroup, "device", device, "op", "read")
	}
	drive := func(device, bytes string) string { return line(metric.NVMeReadBytesTotal, bytes, "device", device) }
	live := kvMode(metric.ModeLive)
	tier := live + line(metric.KVBMDiskFileBytes, "1e9", "pid", "7", "comm", "c", "cgroup", "/e", "path", "/kv")
	before := tier + process("7", "/e", "100") + process("9", "/e", "0") + process("8", "/other", "0") + cgroup("/e", "nvme0n1", "0") + cgroup("/e", "dm-0", "0") + cgroup("/other", "nvme0n1", "0") + drive("nvme0n1", "5") + drive("nvme1n1", "5")
	after := tier + process("7", "/e", "100") + process("9", "/e", "1000") + process("8", "/other", "9000") + cgroup("/e", "nvme0n1", "1050") + cgroup("/e", "dm-0", "1040") + cgroup("/other", "nvme0n1", "7777") + drive("nvme0n1", "2005") + drive("nvme1n1", "305")
	read := func(before, after string) evidence.Disk {
		return counters{turned(t, [2]string{before, after}, [2]string{}), false, []string{"spark"}}.disk([]string{"a"}, metric.OpRead)
	}
	if got := read(before, after); got.Process.Value != 1000 || got.Cgroup.Value != 1050 || got.Device.Value != 2000 || got.Unplaced || got.Denied {
		t.Errorf("%+v", got)
	}
	blind := live + line(metric.ProcessCPUSecondsTotal, "1", "pid", "7", "comm", "c", "cgroup", "/e") + drive("nvme0n1", "5")
	if got := read(blind, blind); got.Process.Known || !got.Denied || !got.Device.Known {
		t.Errorf("%+v", got)
	}
	ended := strings.Replace(after, process("9", "/e", "1000"), "", 1)
	if got := read(before, ended); got.Process.Known || !got.Cgroup.Known {
		t.Errorf("what a process read that ended on the way is half of a count: %+v", got)
	}
	// That both have no cgroup that is known does not make them one engine.
	loose := func(page string) string {
		return strings.ReplaceAll(strings.ReplaceAll(page, `"/e"`, `""`), `"/other"`, `""`)
	}
	if got := read(loose(before), loose(after)); !got.Process.Known || got.Process.Value != 0 {
		t.Errorf("processes of no cgroup: %+v", got)
	}
	if got := read(before, ""); got.Process.Known || got.Cgroup.Known || got.Device.Known {
		t.Errorf("half a phase is counted: %+v", got)
	}
}
