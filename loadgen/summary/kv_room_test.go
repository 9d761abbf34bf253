package summary

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/trtllm"
	"github.com/umascope/umascope/exporter/engine/vllm"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/sim"
)

func TestTheSizeOfTheDeviceIsReadOffThePageOfEveryEngine(t *testing.T) {
	for vendor, path := range map[sim.Vendor]string{
		sim.VLLM: "/metrics", sim.Dynamo: "/metrics", sim.TensorRTLLM: trtllm.PagePath,
	} {
		t.Run(string(vendor), func(t *testing.T) {
			config := sim.Default()
			config.Vendor, config.KVCacheTokens = vendor, 48_000
			log := sampledAs(t, pageOf(t, config, path), true)
			room := ReadKVRoom(log, []string{"spark1"}, true, "")
			if room != (evidence.Room{DeviceTokens: 48_000}) {
				t.Errorf("%+v", room)
			}
		})
	}
}

func TestTheSizeOfTheDeviceIsReadFromTheRealPageOfSGLang(t *testing.T) {
	page, err := os.ReadFile("../../exporter/engine/testdata/sglang-doc.prom")
	if err != nil {
		t.Fatal(err)
	}
	if room := ReadKVRoom(sampledAs(t, string(page), true), []string{"spark1"}, true, ""); room.DeviceTokens != 92962 {
		t.Errorf("%+v", room)
	}
}

// pageOf is what an engine says on a page of its own once it runs.
func pageOf(t *testing.T, config sim.Config, path string) string {
	t.Helper()
	engine, err := sim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = engine.Run(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	handler := engine.Handler()
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		// Dynamo answers before it has a model, with none.
		if models := get(handler, "/v1/models"); models.Code == http.StatusOK && strings.Contains(models.Body.String(), config.Model) {
			return get(handler, path).Body.String()
		}
	}
	t.Fatal("the engine does not start")
	return ""
}

func get(handler http.Handler, path string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer
}

func TestARoomIsReadOffWhatAnExporterShows(t *testing.T) {
	capacity := func(d metric.Definer, source, value string) string {
		return line(d, value, "source", source, "model", "m")
	}
	page := capacity(metric.EngineKVCapacityTokens, "a", "1000") + capacity(metric.EngineKVCapacityTokens, "b", "800") +
		capacity(metric.EngineKVCapacityBytes, "a", "4000") + kvSize(metric.TierHost, "5000") + kvSize(metric.TierDisk, "6000")
	file := line(metric.KVBMDiskFileBytes, "7000", "pid", "7", "comm", "c", "cgroup", "/", "path", "/kv")
	whole := evidence.Room{DeviceTokens: 1000, HostBytes: 5000, DiskBytes: 6000, TokenBytes: 4, KVBM: true}
	filed := whole
	filed.DiskBytes = 7000
	for name, c := range map[string]struct {
		page string
		want evidence.Room
	}{
		"live":                {kvMode(metric.ModeLive) + page, whole},
		"with a file":         {kvMode(metric.ModeLive) + page + file, filed},
		"nothing of it":       {kvMode(metric.ModeLive), evidence.Room{}},
		"a recording":         {kvMode(metric.ModeReplay) + page, evidence.Room{}},
		"a simulated machine": {kvMode(metric.ModeSimulated) + page, evidence.Room{}},
	} {
		log := sampled(t, c.page)
		if got := ReadKVRoom(log, []string{"spark1"}, false, ""); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestLabelsThatAreNoSizesAreNone(t *testing.T) {
	for _, labels := range []string{
		`block_size="16"`, `block_size="16",num_gpu_blocks="None"`, `block_size="-16",num_gpu_blocks="-5"`,
		`block_size="1e300",num_gpu_blocks="1e300"`, `block_size="NaN",num_gpu_blocks="4"`, `block_size="Inf",num_gpu_blocks="1"`,
		`block_size="1e10",num_gpu_blocks="1e10"`,
	} {
		log := sampledAs(t, vllm.CacheConfigInfo+"{"+labels+"} 1\n", true)
		if got := ReadKVRoom(log, []string{"spark1"}, false, ""); got != (evidence.Room{}) {
			t.Errorf("%s: %+v", labels, got)
		}
	}
}

func TestTokensOfAHybridModelAreNotBlocksOfVLLM(t *testing.T) {
	for labels, want := range map[string]float64{
		`block_size="16",num_gpu_blocks="1000"`:                                                      16000,
		`block_size="16",num_gpu_blocks="1000",mamba_block_size="528"`:                               0,
		`block_size="16",num_gpu_blocks="1000",effective_attention_block_size="528"`:                 0,
		`block_size="16",num_gpu_blocks="1000",mamba_block_size="528",kv_cache_size_tokens="264000"`: 264000,
	} {
		log := sampledAs(t, vllm.CacheConfigInfo+"{"+labels+"} 1\n", true)
		if got := ReadKVRoom(log, []string{"spark1"}, false, ""); got.DeviceTokens != want {
			t.Errorf("%s: %v tokens, want %v", labels, got.DeviceTokens, want)
		}
	}
}

func TestATierIsOffIfObservedOrExpectedAndNotContradicted(t *testing.T) {
	on, off := tier{on: "seen"}, tier{off: "seen"}
	for _, c := range []struct {
		host, disk tier
		expect     KVExpectation
		want       evidence.Tiers
	}{
		{tier{}, tier{}, "", evidence.Tiers{}},
		{off, off, "", evidence.Tiers{HostOff: true, DiskOff: true}},
		{tier{}, tier{}, KVOff, evidence.Tiers{HostOff: true, DiskOff: true}},
		{tier{}, tier{}, KVCPUOnly, evidence.Tiers{DiskOff: true}},
		{tier{}, tier{}, KVCPUDisk, evidence.Tiers{}},
		{on, on, KVOff, evidence.Tiers{}},
		{on, off, KVCPUDisk, evidence.Tiers{DiskOff: true}},
	} {
		if got := offTiers(KVTiersSeen{host: c.host, disk: c.disk}, c.expect); got != c.want {
			t.Errorf("%+v, %+v, expected %q: %+v", c.host, c.disk, c.expect, got)
		}
	}
}

// vLLM 0.32.0 on a CPU: 1 GiB for 4,096 blocks of 128 tokens, and the same setting where --num-gpu-blocks-override left 64 of them.
func TestBytesOfATokenAreReadFromTheRealPageOfVLLM(t *testing.T) {
	for file, want := range map[string]evidence.Room{
		"vllm-0.32.0-cpu-config.prom":    {DeviceTokens: 524288, TokenBytes: 2048},
		"vllm-0.32.0-cpu-reuse-end.prom": {DeviceTokens: 8192},
	} {
		if got := ReadKVRoom(sampledAs(t, recordedPage(t, file), true), nil, false, ""); got != want {
			t.Errorf("%s: %+v, want %+v", file, got, want)
		}
	}
}

// The page of Dynamo's frontend has the blocks of one worker, however many there are.
func TestTheCacheOfSeveralWorkersIsUnknownOnTheFrontendsPage(t *testing.T) {
	page := "dynamo_frontend_model_total_kv_blocks{model=\"m\"} 100\ndynamo_frontend_model_kv_cache_block_size{model=\"m\"} 16\n"
	worker := func(id string) string {
		return "dynamo_component_router_worker_registered{dp_rank=\"0\",router_worker_id=\"" + id + "\"} 1\n"
	}
	for text, want := range map[string]float64{page: 0, page + worker("7"): 1600, page + worker("7") + worker("8"): 0} {
		if got := ReadKVRoom(sampledAs(t, text, true), nil, false, "").DeviceTokens; got != want {
			t.Errorf("%s: %v tokens, want %v", text, got, want)
		}
	}
}
