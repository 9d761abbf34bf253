package collector

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/snapshot"
)

// served answers with pages by host:port/path, as text. Elsewhere nobody listens.
type served map[string]string

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	page, listens := s[r.URL.Host+r.URL.Path]
	if !listens {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.NopCloser(strings.NewReader(page))}, nil
}

func endpoints(t testing.TB, urls ...string) []*engine.Endpoint {
	t.Helper()
	var list []*engine.Endpoint
	for _, url := range urls {
		e, err := engine.ParseEndpoint(url)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

const (
	leader       = "127.0.0.1:6880/metrics"
	leaderSource = `source="127.0.0.1:6880/metrics"`
)

// kvbmPageOf runs the collector on a machine without GPU whose leader has the page.
func kvbmPageOf(t *testing.T, text string, options SourceOptions) (map[string]float64, Outcome) {
	t.Helper()
	options.KVBM = endpoints(t, "http://"+leader)
	host := sparkWith(t, driver{})
	host.HTTP = served{leader: text}
	return page(t, kvbmSpec(), host, Options{Sources: options})
}

// exposed is a page of counters, and gauges where a name says rate.
func exposed(values map[string]float64) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		kind := "counter"
		if strings.HasSuffix(name, "_rate") {
			kind = "gauge"
		}
		fmt.Fprintf(&b, "# TYPE %s %s\n%s %v\n", name, kind, name, values[name])
	}
	return b.String()
}

// v1Page is what a leader of version 1 says when these are not 0.
func v1Page(values map[string]float64) string {
	all := map[string]float64{
		"kvbm_offload_blocks_d2h": 0, "kvbm_offload_blocks_h2d": 0, "kvbm_offload_blocks_d2d": 0, "kvbm_offload_blocks_d2o": 0,
		"kvbm_onboard_blocks_h2d": 0, "kvbm_onboard_blocks_d2d": 0, "kvbm_onboard_blocks_o2d": 0,
		"kvbm_offload_bytes_object": 0, "kvbm_onboard_bytes_object": 0, "kvbm_matched_tokens": 0,
		"kvbm_host_cache_hit_rate": 0, "kvbm_disk_cache_hit_rate": 0, "kvbm_object_cache_hit_rate": 0,
	}
	maps.Copy(all, values)
	return exposed(all)
}

// replay is the story of a run that evicts and replays, at its four borders. A block is 32 tokens and 4 MiB.
func replay() []map[string]float64 {
	return []map[string]float64{
		{},
		{"kvbm_offload_blocks_d2h": 3904, "kvbm_offload_blocks_h2d": 1856},
		{"kvbm_offload_blocks_d2h": 11840, "kvbm_offload_blocks_h2d": 9472, "kvbm_onboard_blocks_h2d": 64,
			"kvbm_matched_tokens": 2048, "kvbm_host_cache_hit_rate": 0.0064},
		{"kvbm_offload_blocks_d2h": 12288, "kvbm_offload_blocks_h2d": 9984, "kvbm_onboard_blocks_h2d": 512,
			"kvbm_onboard_blocks_d2d": 3152, "kvbm_matched_tokens": 117248, "kvbm_host_cache_hit_rate": 0.1248, "kvbm_disk_cache_hit_rate": 0.7716},
	}
}

func blocksOf(op, from, to string) string {
	return fmt.Sprintf("uma_kvbm_blocks_total{from=%q,op=%q,%s,to=%q}", from, op, leaderSource, to)
}

func movedBytes(op, from, to string) string {
	return strings.Replace(blocksOf(op, from, to), "blocks", "bytes", 1)
}

func TestReplayOfTheStoryMovesTheTiersThatItMoved(t *testing.T) {
	var at []map[string]float64
	for _, values := range replay() {
		series, outcome := kvbmPageOf(t, v1Page(values), SourceOptions{Known: supported.Engines(), BytesPerBlock: map[string]uint64{"": 4 << 20}})
		if outcome.State != OK {
			t.Fatalf("%s: %v", outcome.State, outcome.Err)
		}
		at = append(at, series)
	}
	delta := func(series string) float64 { return at[3][series] - at[2][series] }
	hostBlocks, diskBlocks := delta(blocksOf("onboard", "host", "device")), delta(blocksOf("onboard", "disk", "device"))
	tokens := delta("uma_kvbm_matched_tokens_total{" + leaderSource + "}")
	if hostBlocks != 448 || diskBlocks != 3152 || tokens != 115200 || tokens/32 != hostBlocks+diskBlocks {
		t.Errorf("%v blocks from host, %v from disk, %v tokens", hostBlocks, diskBlocks, tokens)
	}
	if bytes := delta(movedBytes("onboard", "disk", "device")); bytes != 13220446208 {
		t.Errorf("%v bytes from disk", bytes)
	}
	wantSeries(t, at[3], map[string]float64{
		blocksOf("offload", "device", "host"):                                               12288,
		blocksOf("offload", "host", "disk"):                                                 9984,
		movedBytes("offload", "host", "disk"):                                               41875931136,
		movedBytes("offload", "device", "object"):                                           0,
		"uma_kvbm_block_bytes{" + leaderSource + "}":                                        4 << 20,
		`uma_kvbm_window_hit_ratio{` + leaderSource + `,tier="disk"}`:                       0.7716,
		`uma_kvbm_window_hit_ratio{` + leaderSource + `,tier="host"}`:                       0.1248,
		`uma_kvbm_info{` + leaderSource + `,version="v1"}`:                                  1,
		"uma_kvbm_up{" + leaderSource + "}":                                                 1,
		`uma_kvbm_bytes_total{from="object",op="onboard",` + leaderSource + `,to="device"}`: 0,
	})
	wantAbsent(t, at[3], blocksOf("onboard", "disk", "host")) // version 1 has no such way
}

func TestBytesAreAbsentWhereTheSizeOfABlockIsNotKnown(t *testing.T) {
	series, _ := kvbmPageOf(t, v1Page(map[string]float64{"kvbm_offload_blocks_d2o": 3, "kvbm_offload_bytes_object": 77}), SourceOptions{Known: supported.Engines()})
	wantSeries(t, series, map[string]float64{movedBytes("offload", "device", "object"): 77})
	wantAbsent(t, series, movedBytes("offload", "host", "disk"), "uma_kvbm_block_bytes")
}

// Programs write -1 for what they do not have.
func TestAFigureOfKVBMBelowZeroIsAbsent(t *testing.T) {
	page := v1Page(map[string]float64{"kvbm_onboard_blocks_h2d": -1, "kvbm_host_cache_hit_rate": -1, "kvbm_offload_blocks_d2h": 7}) +
		"kvbm_inflight_onboard_hashes -1\nkvbm_transfer_inflight{operation=\"offload\"} -1\nkvbm_transfer_inflight{operation=\"onboard\"} 2\n"
	series, outcome := kvbmPageOf(t, page, SourceOptions{})
	if outcome.State != OK {
		t.Fatalf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{blocksOf("offload", "device", "host"): 7})
	for name, value := range series {
		if value < 0 {
			t.Errorf("%s is %v", name, value)
		}
	}
	wantAbsent(t, series, blocksOf("onboard", "host", "device"), "uma_kvbm_window_hit_ratio{"+leaderSource+`,tier="host"}`, "uma_kvbm_onboards_in_flight", "uma_kvbm_transfers_in_flight")
}

func TestASizeGivenForOneSourceIsNotThatOfAnother(t *testing.T) {
	for flag, want := range map[string]float64{leader: 8, "": 8, "127.0.0.1:6881/metrics": 0} {
		series, _ := kvbmPageOf(t, v1Page(nil), SourceOptions{Known: supported.Engines(), BytesPerBlock: map[string]uint64{flag: 8}})
		if got := series["uma_kvbm_block_bytes{"+leaderSource+"}"]; got != want {
			t.Errorf("given for %q: %v", flag, got)
		}
	}
}

// A restarted leader counts from 0: the step down must be seen, or its reader takes the sum for one run.
func TestCountersThatStartAgainAreShownAsTheyAre(t *testing.T) {
	host := sparkWith(t, driver{})
	pages := served{leader: v1Page(replay()[3])}
	host.HTTP = pages
	runner := NewRunner(host, Options{Sources: SourceOptions{Known: supported.Engines(), Targets: Targets{KVBM: endpoints(t, "http://"+leader)}}}, []Spec{kvbmSpec()}, RunnerSettings{})
	before := gather(t, mustScrape(t, runner, t.Context()))
	pages[leader] = v1Page(replay()[1])
	after := gather(t, mustScrape(t, runner, t.Context()))
	name := blocksOf("offload", "host", "disk")
	if before[name] != 9984 || after[name] != 1856 {
		t.Errorf("%v, then %v", before[name], after[name])
	}
	delete(pages, leader)
	gone := gather(t, mustScrape(t, runner, t.Context()))
	wantAbsent(t, gone, "uma_kvbm_blocks_total", "uma_kvbm_info", "uma_kvbm_matched")
	wantSeries(t, gone, map[string]float64{"uma_kvbm_up{" + leaderSource + "}": 0})
}

func TestPrefixedNamesAreTheSameSeries(t *testing.T) {
	plain, _ := kvbmPageOf(t, v1Page(replay()[3]), SourceOptions{Known: supported.Engines()})
	prefixed, outcome := kvbmPageOf(t, strings.ReplaceAll(v1Page(replay()[3]), "kvbm_", "dynamo_kvbm_"), SourceOptions{Known: supported.Engines()})
	if outcome.State != OK || !maps.Equal(withoutHealth(plain), withoutHealth(prefixed)) {
		t.Errorf("%s\n%v\n%v", outcome.State, plain, prefixed)
	}
}

// withoutHealth drops the series about the collector itself.
func withoutHealth(series map[string]float64) map[string]float64 {
	kept := map[string]float64{}
	for name, value := range series {
		if strings.HasPrefix(name, "uma_kvbm_") {
			kept[name] = value
		}
	}
	return kept
}

const v2Additions = `# TYPE kvbm_onboard_blocks_d2h counter
kvbm_onboard_blocks_d2h 3152
# TYPE kvbm_inflight_onboard_hashes gauge
kvbm_inflight_onboard_hashes 2
# TYPE kvbm_object_read_failures counter
kvbm_object_read_failures 5
# TYPE kvbm_object_write_failures counter
kvbm_object_write_failures 0
# TYPE kvbm_cache_blocks_hit_total counter
kvbm_cache_blocks_hit_total{tier="disk"} 3000
kvbm_cache_blocks_hit_total{tier="G3"} 152
kvbm_cache_blocks_hit_total{tier="host"} 512
kvbm_cache_blocks_hit_total{tier="moon"} 1
# TYPE kvbm_transfer_duration_seconds histogram
kvbm_transfer_duration_seconds_bucket{operation="offload",outcome="success",route="h2d",le="0.005"} 12
kvbm_transfer_duration_seconds_bucket{operation="offload",outcome="success",route="h2d",le="+Inf"} 312
kvbm_transfer_duration_seconds_sum{operation="offload",outcome="success",route="h2d"} 6.9117
kvbm_transfer_duration_seconds_count{operation="offload",outcome="success",route="h2d"} 312
kvbm_transfer_duration_seconds_bucket{operation="onboard",outcome="success",route="h2d",le="+Inf"} 64
kvbm_transfer_duration_seconds_sum{operation="onboard",outcome="success",route="h2d"} 1.5
kvbm_transfer_duration_seconds_count{operation="onboard",outcome="success",route="h2d"} 64
kvbm_transfer_duration_seconds_bucket{operation="onboard",outcome="success",route="sideways",le="+Inf"} 3
kvbm_transfer_duration_seconds_sum{operation="onboard",outcome="success",route="sideways"} 1
kvbm_transfer_duration_seconds_count{operation="onboard",outcome="success",route="sideways"} 3
# TYPE kvbm_transfer_failures_total counter
kvbm_transfer_failures_total{operation="onboard",reason="timeout",route="d2h"} 4
# TYPE kvbm_transfer_inflight gauge
kvbm_transfer_inflight{operation="offload"} 2
`

func TestVersion2SaysMoreAndStagesThroughTheHost(t *testing.T) {
	series, outcome := kvbmPageOf(t, v1Page(map[string]float64{"kvbm_onboard_blocks_h2d": 3664})+v2Additions, SourceOptions{Known: supported.Engines()})
	if outcome.State != OK {
		t.Fatalf("%s: %v", outcome.State, outcome.Err)
	}
	way := func(op, from, to, last string) string {
		labels := []string{fmt.Sprintf("from=%q", from), fmt.Sprintf("op=%q", op), last, leaderSource, fmt.Sprintf("to=%q", to)}
		slices.Sort(labels)
		return "{" + strings.Join(labels, ",") + "}"
	}
	wantSeries(t, series, map[string]float64{
		`uma_kvbm_info{` + leaderSource + `,version="v2"}`:                                      1,
		blocksOf("onboard", "disk", "host"):                                                     3152,
		blocksOf("onboard", "host", "device"):                                                   3664,
		"uma_kvbm_onboards_in_flight{" + leaderSource + "}":                                     2,
		`uma_kvbm_object_failures_total{op="read",` + leaderSource + `}`:                        5,
		`uma_kvbm_object_failures_total{op="write",` + leaderSource + `}`:                       0,
		`uma_kvbm_hit_blocks_total{` + leaderSource + `,tier="disk"}`:                           3152,
		`uma_kvbm_hit_blocks_total{` + leaderSource + `,tier="host"}`:                           512,
		`uma_kvbm_hit_blocks_total{` + leaderSource + `,tier="other"}`:                          1,
		"uma_kvbm_transfers_total" + way("offload", "host", "disk", `result="success"`):         312,
		"uma_kvbm_transfers_total" + way("onboard", "host", "device", `result="success"`):       64,
		"uma_kvbm_transfers_total" + way("onboard", "other", "other", `result="success"`):       3,
		"uma_kvbm_transfer_seconds_total" + way("offload", "host", "disk", `result="success"`):  6.9117,
		"uma_kvbm_transfer_failures_total" + way("onboard", "disk", "host", `reason="timeout"`): 4,
		`uma_kvbm_transfers_in_flight{op="offload",` + leaderSource + `}`:                       2,
	})
}

const nixlText = `# TYPE agent_tx_bytes_total counter
agent_tx_bytes_total{agent_name="worker-0",hostname="spark-0001"} 41875931136
# TYPE agent_rx_bytes_total counter
agent_rx_bytes_total{agent_name="worker-0",hostname="spark-0001"} 13220446208
agent_rx_bytes_total{agent_name="worker-1",hostname="spark-0001"} 7
# TYPE agent_tx_requests_num_total counter
agent_tx_requests_num_total{agent_name="worker-0",hostname="spark-0001"} 624
# TYPE agent_rx_requests_num_total counter
agent_rx_requests_num_total{agent_name="worker-0",hostname="spark-0001"} 197
# TYPE agent_memory_registered_total counter
agent_memory_registered_total{agent_name="worker-0",hostname="spark-0001"} 48318382080
# TYPE agent_xfer_time_total counter
agent_xfer_time_total{agent_name="worker-0",hostname="spark-0001"} 8894122
# TYPE agent_errors_total counter
agent_errors_total{agent_name="worker-0",hostname="spark-0001",status="NIXL_ERR_BACKEND"} 0
# TYPE agent_telemetry_events_dropped_total counter
agent_telemetry_events_dropped_total{agent_name="worker-0",hostname="spark-0001"} 3
`

func TestTransferLayerTellsBytesAndTimeByAgent(t *testing.T) {
	series, outcome := kvbmPageOf(t, nixlText, SourceOptions{Known: supported.Engines(), BytesPerBlock: map[string]uint64{"": 4 << 20}})
	if outcome.State != OK {
		t.Fatalf("%s: %v", outcome.State, outcome.Err)
	}
	const agent = `agent="worker-0",`
	wantSeries(t, series, map[string]float64{
		`uma_kvbm_info{` + leaderSource + `,version="nixl"}`:                                 1,
		"uma_kvbm_nixl_bytes_total{" + agent + `direction="tx",` + leaderSource + "}":        41875931136,
		"uma_kvbm_nixl_bytes_total{" + agent + `direction="rx",` + leaderSource + "}":        13220446208,
		`uma_kvbm_nixl_bytes_total{agent="worker-1",direction="rx",` + leaderSource + "}":    7,
		"uma_kvbm_nixl_requests_total{" + agent + `direction="tx",` + leaderSource + "}":     624,
		"uma_kvbm_nixl_transfer_seconds_total{" + agent + leaderSource + "}":                 8.894122,
		"uma_kvbm_nixl_registered_bytes_total{" + agent + leaderSource + "}":                 48318382080,
		"uma_kvbm_nixl_errors_total{" + agent + leaderSource + `,status="NIXL_ERR_BACKEND"}`: 0,
		"uma_kvbm_nixl_dropped_events_total{" + agent + leaderSource + "}":                   3,
	})
	wantAbsent(t, series, "uma_kvbm_blocks_total", "uma_kvbm_block_bytes", "uma_kvbm_nixl_deregistered_bytes_total")
}

// recordedKVBM are the figures of a page that a real program wrote.
func recordedKVBM(t *testing.T, file string) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile("../engine/testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	series, outcome := kvbmPageOf(t, string(text), SourceOptions{Known: supported.Engines(), BytesPerBlock: map[string]uint64{"": 1 << 19}})
	if outcome.State != OK {
		t.Fatalf("%s: %v", outcome.State, outcome.Err)
	}
	return series
}

// TestBytesOfNIXLFromAndToAFile goes by what the program did: of 4 MiB, 6 WRITEs to a file and 3 READs from it; registered were
// 4 MiB of memory, the file, and 1 MiB for a moment.
func TestBytesOfNIXLFromAndToAFile(t *testing.T) {
	const agent = `agent="worker-0",`
	wantSeries(t, recordedKVBM(t, "nixl-1.5.1-file.prom"), map[string]float64{
		`uma_kvbm_info{` + leaderSource + `,version="nixl"}`:                              1,
		"uma_kvbm_nixl_bytes_total{" + agent + `direction="tx",` + leaderSource + "}":     6 << 22,
		"uma_kvbm_nixl_bytes_total{" + agent + `direction="rx",` + leaderSource + "}":     3 << 22,
		"uma_kvbm_nixl_requests_total{" + agent + `direction="tx",` + leaderSource + "}":  6,
		"uma_kvbm_nixl_requests_total{" + agent + `direction="rx",` + leaderSource + "}":  3,
		"uma_kvbm_nixl_transfer_seconds_total{" + agent + leaderSource + "}":              0.005429,
		"uma_kvbm_nixl_registered_bytes_total{" + agent + leaderSource + "}":              9 << 20,
		"uma_kvbm_nixl_deregistered_bytes_total{" + agent + leaderSource + "}":            1 << 20,
		"uma_kvbm_nixl_errors_total{" + agent + leaderSource + `,status="invalid_param"}`: 0,
	})
}

// TestBlocksOfARealKVBM goes by the reads of the process: 3442 blocks of 512 KiB are the growth of its read_bytes.
func TestBlocksOfARealKVBM(t *testing.T) {
	series := recordedKVBM(t, "dynamo-kvbm-1.4.2-cuda.prom")
	wantSeries(t, series, map[string]float64{
		`uma_kvbm_info{` + leaderSource + `,version="v1"}`:                                 1,
		`uma_kvbm_blocks_total{from="disk",op="onboard",` + leaderSource + `,to="device"}`: 3442,
		`uma_kvbm_bytes_total{from="disk",op="onboard",` + leaderSource + `,to="device"}`:  1804599296,
		`uma_kvbm_object_failures_total{op="read",` + leaderSource + `}`:                   0,
	})
	wantAbsent(t, series, `uma_kvbm_blocks_total{from="disk",op="onboard",`+leaderSource+`,to="host"}`)
}

func TestWhereNobodyListensThereIsNoKVBMAndNoFailure(t *testing.T) {
	host := sparkWith(t, driver{})
	host.HTTP = served{}
	sources := SourceOptions{Known: supported.Engines(), Targets: Targets{KVBM: endpoints(t, "http://"+leader)}}
	series, outcome := page(t, kvbmSpec(), host, Options{Sources: sources})
	if outcome.State != Absent || !strings.Contains(outcome.Reason(), leader) {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{"uma_kvbm_up{" + leaderSource + "}": 0})
	if _, outcome := page(t, kvbmSpec(), host, Options{}); outcome.State != Absent {
		t.Errorf("without sources: %s: %v", outcome.State, outcome.Err)
	}
}

func TestAPageOfSomethingElseFailsAndCostsOnlyItself(t *testing.T) {
	host := sparkWith(t, driver{})
	host.HTTP = served{leader: "# TYPE up gauge\nup 1\n", "h:80/metrics": v1Page(replay()[3])}
	sources := SourceOptions{Known: supported.Engines(), Targets: Targets{KVBM: endpoints(t, "http://"+leader, "http://h", "http://nobody")}}
	series, outcome := page(t, kvbmSpec(), host, Options{Sources: sources})
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), leader+": answers, but") || strings.Contains(outcome.Err.Error(), "nobody") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		"uma_kvbm_up{" + leaderSource + "}":                    0,
		`uma_kvbm_up{source="h:80/metrics"}`:                   1,
		`uma_kvbm_up{source="nobody:80/metrics"}`:              0,
		`uma_kvbm_matched_tokens_total{source="h:80/metrics"}`: 117248,
	})
}

func TestWordsOfASourceAreBoundedInNumberAndLength(t *testing.T) {
	var b strings.Builder
	b.WriteString(v1Page(nil))
	for i := range 5000 {
		fmt.Fprintf(&b, "kvbm_transfer_failures_total{operation=\"onboard\",route=\"d2h\",reason=\"%d%s\"} 1\n", i, strings.Repeat("x", 300))
	}
	series, outcome := kvbmPageOf(t, b.String(), SourceOptions{Known: supported.Engines()})
	count, sum := 0, 0.0
	for name, value := range series {
		if strings.HasPrefix(name, "uma_kvbm_transfer_failures_total") {
			count++
			sum += value
			if len(name) > 300 {
				t.Errorf("a name of %d bytes", len(name))
			}
		}
	}
	if outcome.State != OK || count != maxForeignSeries+1 || sum != 5000 {
		t.Errorf("%s, %d series, sum %v", outcome.State, count, sum)
	}
}

// tieredProc has a disk tier that its worker has open twice, its child once, and that has lost its name.
const tieredProc = `kind: constructed
page_size: 4096
-- nvml.jsonl --
{"format":"umascope nvml recording","version":1}
{"device":-1,"call":"nvmlInit_v2","return":12}
-- proc/meminfo --
MemTotal: 1 kB
-- proc/6330/comm --
VLLM::EngineCor
-- proc/6330/cgroup --
0::/system.slice/docker-4f5b3a.scope
-- proc/6330/fd/188 -> /mnt/kvbm/dynamo-kvbm-disk-cache-Xa91Qz (deleted) --
size: 34359738368
-- proc/6330/fdinfo/188 --
pos:	0
flags:	02600002
mnt_id:	31
ino:	9961475
-- proc/6330/fd/189 -> /mnt/kvbm/dynamo-kvbm-disk-cache-Xa91Qz (deleted) --
size: 34359738368
-- proc/6330/fdinfo/189 --
pos:	0
flags:	02000002
mnt_id:	31
ino:	9961475
-- proc/6330/fd/3 -> /models/dynamo-kvbm-disk-cache.txt --
size: 12
-- proc/6330/fdinfo/3 --
pos:	0
flags:	0100000
mnt_id:	31
ino:	7
-- proc/3150/comm --
Xorg
-- proc/3150/cgroup --
0::/user.slice
-- proc/3150/fd/188 -> /mnt/kvbm/dynamo-kvbm-disk-cache-Xa91Qz (deleted) --
size: 34359738368
-- proc/3150/fdinfo/188 --
pos:	0
flags:	02600002
mnt_id:	31
ino:	9961475
-- proc/3150/fd/9 -> /tmp/kvbm_g3_17.bin --
size: 4096
-- proc/3150/fdinfo/9 --
pos:	0
flags:	02000002
mnt_id:	31
ino:	12
`

func TestDiskTierIsFoundByTheDescriptorsOfItsHolders(t *testing.T) {
	a, err := snapshot.Read([]byte(tieredProc))
	if err != nil {
		t.Fatal(err)
	}
	files, err := a.Unpack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host := spark(t)
	host.Proc = files.Proc
	series, outcome := page(t, kvbmSpec(), host, Options{})
	if outcome.State != OK {
		t.Fatalf("%s: %v", outcome.State, outcome.Err)
	}
	const v1 = `{cgroup="/system.slice/docker-4f5b3a.scope",comm="VLLM::EngineCor",path="/mnt/kvbm/dynamo-kvbm-disk-cache-Xa91Qz",pid="6330"}`
	const v2 = `{cgroup="/user.slice",comm="Xorg",path="/tmp/kvbm_g3_17.bin",pid="3150"}`
	want := map[string]float64{
		"uma_kvbm_disk_file_bytes" + v1: 34359738368, "uma_kvbm_disk_file_direct_io" + v1: 1,
		"uma_kvbm_disk_file_bytes" + v2: 4096, "uma_kvbm_disk_file_direct_io" + v2: 0,
	}
	if got := withoutHealth(series); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestEnvironmentTellsTheTiersThatAnEngineWasStartedWith(t *testing.T) {
	host := spark(t)
	host.Proc = onDisk(t, replaced(sparkProc(), "6330/environ", "HF_TOKEN=secret\x00DYN_KVBM_CPU_CACHE_GB=8\x00DYN_KVBM_DISK_CACHE_GB=0.5\x00"))
	series, outcome := page(t, kvbmSpec(), host, Options{})
	if outcome.State != OK {
		t.Fatalf("%s: %v", outcome.State, outcome.Err)
	}
	const engine = `{cgroup="/system.slice/docker-4f5b3a.scope",comm="VLLM::EngineCor",pid="6330",tier=`
	want := map[string]float64{
		"uma_kvbm_configured_cache_bytes" + engine + `"host"}`: 8e9, "uma_kvbm_configured_cache_bytes" + engine + `"disk"}`: 5e8,
		`uma_kvbm_disk_filter_enabled{cgroup="/system.slice/docker-4f5b3a.scope",comm="VLLM::EngineCor",pid="6330"}`: 1,
	}
	if got := withoutHealth(series); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// KVBM compares the value with "true" and "1" only.
func TestTheDiskFilterIsOnUnlessTheEnvironmentDisablesIt(t *testing.T) {
	const absent = -1
	for environ, want := range map[string]float64{
		"DYN_KVBM_DISK_CACHE_GB=8": 1, "DYN_KVBM_DISK_CACHE_GB=8\x00DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=": 1,
		"DYN_KVBM_DISK_CACHE_GB=8\x00DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=false": 1, "DYN_KVBM_DISK_CACHE_GB=8\x00DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=0": 1,
		"DYN_KVBM_DISK_CACHE_GB=8\x00DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=True": 1, "DYN_KVBM_DISK_CACHE_GB=8\x00DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=yes": 1,
		"DYN_KVBM_DISK_CACHE_GB=8\x00DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=1": 0, "DYN_KVBM_DISK_CACHE_GB=8\x00DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=true": 0,
		"DYN_KVBM_CPU_CACHE_GB=8": absent, "DYN_KVBM_DISK_CACHE_GB=0": absent, "DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=1": absent,
	} {
		got := readConfiguredTiers(onDisk(t, tree(map[string]string{"9/environ": environ + "\x00"})), 9).filter
		switch {
		case want == absent && got != nil, want != absent && got == nil:
			t.Errorf("%q: %v", environ, got)
		case want != absent && number(*got) != want:
			t.Errorf("%q: %v, want %v", environ, *got, want)
		}
	}
}

func TestSizesOfTiersAreNumbersOfGigabytes(t *testing.T) {
	for text, want := range map[string]float64{"32": 32e9, "0": 0, "0.25": 25e7, "": -1, "-1": -1, "NaN": -1, "inf": -1, "1e300": -1, "8GB": -1} {
		bytes, given := parseGigabytes(text)
		if given != (want >= 0) || given && bytes != want {
			t.Errorf("%q: %v, %v", text, bytes, given)
		}
	}
}

func TestProcessesThatMayNotBeLookedIntoArePassedOver(t *testing.T) {
	host := spark(t)
	host.Proc = refusing(host.Proc, "/fd", unix.EACCES)
	if _, outcome := page(t, kvbmSpec(), host, Options{}); outcome.State != Absent {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
}

const hitLine = "2026-05-14T09:10:02Z  INFO _core::block_manager::cache_stats: KVBM [worker-0f0e] Cache Hit Rates - Host: 12.5% (448/3590), Disk: 77.2% (2770/3590)\n"

func TestLogTellsHitsAndQueriesAndTheSizeOfABlock(t *testing.T) {
	const path = "/var/log/dynamo.log"
	host := sparkWith(t, driver{})
	host.HTTP = served{leader: v1Page(replay()[3])}
	host.Logs = onDisk(t, tree(map[string]string{path[1:]: "\x1b[2mINFO\x1b[0m Allocating disk-backed memory for G3 layout \x1b[3mbytes_per_block\x1b[0m\x1b[2m=\x1b[0m4194304 total_gb=32\n" + hitLine})).Path
	sources := SourceOptions{Known: supported.Engines(), Targets: Targets{KVBM: endpoints(t, "http://"+leader), KVBMLogs: []string{path, "/var/log/none.log"}}}
	series, outcome := page(t, kvbmSpec(), host, Options{Sources: sources})
	if outcome.State != OK {
		t.Fatalf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		`uma_kvbm_window_hit_blocks{source="/var/log/dynamo.log",tier="host"}`: 448,
		`uma_kvbm_window_hit_blocks{source="/var/log/dynamo.log",tier="disk"}`: 2770,
		`uma_kvbm_window_queried_blocks{source="/var/log/dynamo.log"}`:         3590,
		movedBytes("onboard", "disk", "device"):                                13220446208,
	})
}

func TestALogThatCannotBeReadFailsAndCostsOnlyItself(t *testing.T) {
	host := sparkWith(t, driver{})
	host.HTTP = served{leader: v1Page(nil)}
	host.Logs = onDisk(t, fstest.MapFS{"log/x": &fstest.MapFile{Mode: fs.ModeDir}}).Path
	sources := SourceOptions{Known: supported.Engines(), Targets: Targets{KVBM: endpoints(t, "http://"+leader), KVBMLogs: []string{"/log/x"}}}
	series, outcome := page(t, kvbmSpec(), host, Options{Sources: sources})
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "/log/x") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{"uma_kvbm_up{" + leaderSource + "}": 1})
}

func TestSizesOfTwoLogsThatDifferAreNobodys(t *testing.T) {
	logged := func(sizes ...uint64) (list []loggedKVBM) {
		for _, size := range sizes {
			list = append(list, loggedKVBM{facts: kvbmFacts{blockBytes: size}})
		}
		return list
	}
	for _, c := range []struct {
		sizes []uint64
		want  uint64
	}{{nil, 0}, {[]uint64{4}, 4}, {[]uint64{0, 4, 4}, 4}, {[]uint64{4, 8}, 0}, {[]uint64{4, 8, 4}, 0}} {
		if got := onlyBlockSize(logged(c.sizes...)); got != c.want {
			t.Errorf("%v: %d", c.sizes, got)
		}
	}
}

func TestEveryKVBMSeriesOfTheVocabularyIsDeclared(t *testing.T) {
	wantDeclared(t, kvbmSpec(), "KVBM")
}
