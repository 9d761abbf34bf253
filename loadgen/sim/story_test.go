package sim

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/engine/vllm"
)

// tiny has 40 blocks of 16 tokens on the device, 1 KiB a token: 16 KiB a block. The host has room for
// 50, the disk for 200.
func tiny() Config {
	c := paced()
	c.PrefillTokensPerSecond = 1e6
	c.MaxModelTokens, c.KVCacheTokens = 640, 640
	c.KV.BytesPerToken, c.KV.DiskFilter = 1<<10, false
	c.KV.HostBytes, c.KV.DiskBytes = 50*16<<10, 200*16<<10
	c.KV.Host = Link{BytesPerSecond: 1000 * 16 << 10}                               // 1 ms a block
	c.KV.Disk = Link{BytesPerSecond: 250 * 16 << 10, Latency: 2 * time.Millisecond} // 4 ms a block
	return c
}

// promptOf is a prompt of so many tokens that begins with its name, of letters, which is one.
func promptOf(name string, tokens int) string {
	return name + strings.Repeat(" w", tokens-1)
}

func letter(i int) string { return string(rune('a' + i)) }

// asked is one request and what came of it.
type asked struct {
	first  time.Duration // to the first token
	text   string
	cached int
	input  int
}

// ask sends one prompt and waits for the answer.
func askFor(t *testing.T, e *Engine, prompt, more string) asked {
	t.Helper()
	body := `{"model":"simulated-8b","prompt":"` + prompt + `","max_tokens":12,"ignore_eos":true,"temperature":0,"stream":true,"stream_options":{"include_usage":true}` + more + `}`
	got := post(t.Context(), e, path, body)
	if len(got.events) < 3 {
		t.Fatalf("status %d: %s", got.status, got.body.String())
	}
	var last response
	if err := json.Unmarshal([]byte(got.events[len(got.events)-2].data), &last); err != nil || last.Usage == nil {
		t.Fatalf("no usage: %s, %v", got.body.String(), err)
	}
	return asked{got.events[0].at, got.text(t), last.Usage.PromptTokensDetails.CachedTokens, last.Usage.PromptTokens}
}

// kvbmValues are the counters and gauges of KVBM's page.
func kvbmValues(t *testing.T, e *Engine) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for name, family := range scrape(t, e.KVBMHandler(), "/metrics") {
		values[name] = plainValue(family)
	}
	return values
}

// plainValue is that of the first counter or gauge of a family, or the sum of its histogram.
func plainValue(family *dto.MetricFamily) float64 {
	return family.GetMetric()[0].GetHistogram().GetSampleSum() + family.GetMetric()[0].GetCounter().GetValue() + family.GetMetric()[0].GetGauge().GetValue()
}

// A is read, B evicts it, A comes again. All four sources must agree: the responses, KVBM's page, the engine's page,
// and the bytes on the disk.
func TestAllSourcesAgreeOnAnEvictionReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, tiny())
		const size, requests = 161, 3 // 10 full blocks each, 11 with the answer
		round := func(name string) (cached int) {
			for i := range requests {
				cached += askFor(t, e, promptOf(name+letter(i), size), "").cached
			}
			return cached
		}
		if got := round("A"); got != 0 {
			t.Fatalf("warm A found %d tokens", got)
		}
		warm := kvbmValues(t, e)
		if warm["kvbm_offload_blocks_d2h"] != 30 || warm["kvbm_offload_blocks_h2d"] != 30 || warm["kvbm_matched_tokens"] != 0 {
			t.Errorf("after warm A: %v", warm)
		}
		// B is 2 x 33 blocks with its answers: after it A is on the disk only.
		if got := round("B") + round("C"); got != 0 {
			t.Fatalf("pressure B found %d tokens", got)
		}
		before := kvbmValues(t, e)
		replayed := round("A")
		after := kvbmValues(t, e)
		if want := requests * 10 * 16; replayed != want {
			t.Fatalf("replay A found %d cached tokens, want %d", replayed, want)
		}
		delta := func(name string) float64 { return after[name] - before[name] }
		if delta("kvbm_onboard_blocks_d2d") != 30 || delta("kvbm_onboard_blocks_h2d") != 0 || delta("kvbm_matched_tokens") != 480 {
			t.Errorf("onboarded from disk %v, from host %v, matched %v", delta("kvbm_onboard_blocks_d2d"), delta("kvbm_onboard_blocks_h2d"), delta("kvbm_matched_tokens"))
		}
		askFor(t, e, promptOf("Ac", size), "") // on the device: nothing is looked for below it
		time.Sleep(windowRefresh)
		// 12 requests looked for 10 blocks each, and 3 of them found theirs on the disk.
		if rates := kvbmValues(t, e); rates["kvbm_disk_cache_hit_rate"] != 0.25 || rates["kvbm_host_cache_hit_rate"] != 0 {
			t.Errorf("hit rates of disk %v and host %v", rates["kvbm_disk_cache_hit_rate"], rates["kvbm_host_cache_hit_rate"])
		}
		use, _ := e.use(time.Now())
		if use.DiskReadBytes != 30*16<<10 || use.DiskWrittenBytes != int64(after["kvbm_offload_blocks_h2d"])*16<<10 {
			t.Errorf("on the disk: %d bytes read, %d written", use.DiskReadBytes, use.DiskWrittenBytes)
		}
		families := pageOf(t, e)
		if got := plainValue(families[vllm.ExternalHits]); got != 480 {
			t.Errorf("the engine found %v tokens through the connector", got)
		}
		if got, want := plainValue(families[vllm.PrefixQueries]), 13.*size; got != want {
			t.Errorf("the engine looked up %v tokens, want %v", got, want)
		}
	})
}

func TestToBringBlocksBackTakesTheTimeOfTheirTier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiny()
		c.KV.HostBytes = 12 * 16 << 10
		e := start(t, c)
		a := promptOf("A", 161)
		cold := askFor(t, e, a, "")
		warm := askFor(t, e, a, "")
		for i := range 4 { // pushes A out of the device and the host
			askFor(t, e, promptOf("B"+letter(i), 161), "")
		}
		disk := askFor(t, e, a, "")
		// 161 tokens at 1 us, 11 ms for the first token.
		if cold.first != 11*time.Millisecond+161*time.Microsecond || warm.first != 11*time.Millisecond+time.Microsecond {
			t.Errorf("first token after %v cold and %v warm", cold.first, warm.first)
		}
		// 10 blocks of 4 ms each, and 2 of latency.
		if want := warm.first + 42*time.Millisecond; disk.first.Round(time.Microsecond) != want {
			t.Errorf("first token after %v from the disk, want %v", disk.first, want)
		}
		if warm.cached != 160 || disk.cached != 160 || disk.text != cold.text {
			t.Errorf("cached %d and %d; %q, then %q", warm.cached, disk.cached, cold.text, disk.text)
		}
	})
}

func TestOthersGoOnWhileBlocksAreBroughtBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiny()
		c.KV.HostBytes = 0 // by the disk alone
		c.KV.Disk.Latency = 200 * time.Millisecond
		e := start(t, c)
		a := promptOf("A", 161)
		askFor(t, e, a, "")
		for i := range 4 {
			askFor(t, e, promptOf("B"+letter(i), 161), "")
		}
		slow := make(chan asked)
		go func() { slow <- askFor(t, e, a, "") }()
		time.Sleep(time.Millisecond)
		began := time.Now()
		if quick := askFor(t, e, promptOf("C", 20), ""); time.Since(began) > 140*time.Millisecond || quick.first > 12*time.Millisecond {
			t.Errorf("another request: first token after %v, all after %v", quick.first, time.Since(began))
		}
		if values := kvbmValues(t, e); values["kvbm_onboard_blocks_d2d"] != 10 || values["kvbm_offload_blocks_d2d"] == 0 || values["kvbm_offload_blocks_d2h"] != 0 {
			t.Errorf("without a host: %v", values)
		}
		if got := <-slow; got.first < 200*time.Millisecond || got.cached != 160 {
			t.Errorf("brought back: %+v", got)
		}
	})
}

func TestBlocksAreUsedOnlyOnceTheyAreBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiny()
		c.KV.HostBytes = 0
		c.KV.Disk.Latency = 200 * time.Millisecond
		e := start(t, c)
		a := promptOf("A", 161)
		askFor(t, e, a, "")
		for i := range 4 {
			askFor(t, e, promptOf("B"+letter(i), 161), "")
		}
		first := make(chan asked)
		go func() { first <- askFor(t, e, a, "") }()
		time.Sleep(100 * time.Millisecond)
		second := askFor(t, e, a, "")
		if got := <-first; second.first < got.first-101*time.Millisecond || second.cached != 160 {
			t.Errorf("first token after %v, the one that brought the blocks back 100 ms before after %v", second.first, got.first)
		}
		if got := kvbmValues(t, e)["kvbm_onboard_blocks_d2d"]; got != 10 {
			t.Errorf("%v blocks were brought back, want 10", got)
		}
	})
}

// The next turn of a conversation finds the one before, its answer included.
func TestAConversationFindsItsEarlierTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, tiny())
		turn := func(messages string) (text string, cached int) {
			got := post(t.Context(), e, "/v1/chat/completions", `{"model":"simulated-8b","messages":[`+messages+`],"max_tokens":400,"temperature":0}`)
			var r response
			if err := json.Unmarshal([]byte(got.body.String()), &r); err != nil || len(r.Choices) != 1 || *r.Choices[0].FinishReason != finishStop {
				t.Fatalf("%s, %v", got.body.String(), err)
			}
			return r.Choices[0].Message.Content, r.Usage.PromptTokensDetails.CachedTokens
		}
		question := `{"role":"user","content":"` + promptOf("Q", 30) + `"}`
		answer, cached := turn(question)
		if cached != 0 {
			t.Fatalf("the first turn found %d tokens", cached)
		}
		_, cached = turn(question + `,{"role":"assistant","content":"` + answer + `"},{"role":"user","content":"and?"}`)
		// 1 + 5 + 30 of the question, 4 of the head, the answer and its end.
		if want := (40 + countTokens(answer) + 1) / 16 * 16; cached != want {
			t.Errorf("the second turn found %d tokens, want %d", cached, want)
		}
	})
}

func TestASaltSharesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, tiny())
		a := promptOf("A", 50)
		askFor(t, e, a, `,"cache_salt":"x"`)
		if got := askFor(t, e, a, `,"cache_salt":"y"`); got.cached != 0 {
			t.Errorf("another salt found %d tokens", got.cached)
		}
		if got := askFor(t, e, a, `,"cache_salt":"x"`); got.cached != 48 {
			t.Errorf("the same salt found %d tokens", got.cached)
		}
	})
}

func TestTheCacheTakesTheMemoryThatTheWeightsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiny()
		c.Memory = Memory{WeightBytes: 1 << 30, LoadBytesPerSecond: 1 << 30}
		var mu sync.Mutex
		var reports []Use
		c.OnUse = func(u Use) {
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, u)
		}
		c.KV.FreeRatio = 0.5
		c.KV.FreeBytes = func() int64 {
			mu.Lock()
			defer mu.Unlock()
			if last := reports[len(reports)-1]; last.WeightsRead != 1<<30 {
				t.Errorf("asked when %d bytes were read", last.WeightsRead)
			}
			return 100 * 16 << 10
		}
		began := time.Now()
		e, stop := startFor(t, c)
		if took := time.Since(began); took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("loading took %v", took)
		}
		if use, _ := e.use(time.Now()); use.KVCapacityTokens != 50*16 || use.PinnedBytes != 50*16<<10 || use.DeviceBytes != 1<<30+50*16<<10 {
			t.Errorf("%+v", use)
		}
		stop()
		if half := reports[4].WeightsRead; half < 1<<28 || half > 1<<30*3/4 {
			t.Errorf("%d bytes read after half a second", half)
		}
	})
	c := tiny()
	c.KV.FreeBytes = func() int64 { return 1 << 10 }
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "KV cache") {
		t.Errorf("without memory: %v", err)
	}
}

func TestTheWindowForgetsOldRequestsAndIsRenewedEveryFiveSeconds(t *testing.T) {
	var w window
	now := time.Unix(1000, 0)
	w.add(lookup{host: 1, disk: 2, asked: 4}, now)
	w.add(lookup{asked: 4}, now.Add(time.Second))
	if host, disk := w.rates(); host != 0.25 || disk != 0.5 {
		t.Errorf("before it is renewed: %v, %v", host, disk)
	}
	w.refresh(now.Add(5 * time.Second))
	if host, disk := w.rates(); host != 0.125 || disk != 0.25 {
		t.Errorf("renewed: %v, %v", host, disk)
	}
	for range windowRequests {
		w.add(lookup{host: 1, asked: 2}, now.Add(20*time.Second))
	}
	w.refresh(now.Add(time.Minute))
	if host, disk := w.rates(); host != 0.5 || disk != 0 {
		t.Errorf("of the last %d: %v, %v", windowRequests, host, disk)
	}
}

func TestTheWindowAsksForNoMoreThanCanBeFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, tiny())
		askFor(t, e, promptOf("A", 160), "")
		// 10 full blocks, of which the last has the token that is always computed.
		if asked := e.tally.window.sum.asked; asked != 9 {
			t.Errorf("looked for %d blocks below the device, want 9", asked)
		}
	})
}

func TestVersion2ShowsBlocksInTransfer(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"from the host": func(c *Config) { c.KV.HostBytes, c.KV.Host.Latency = 100*16<<10, 200*time.Millisecond },
		"from the disk": func(c *Config) { c.KV.HostBytes, c.KV.Disk.Latency = 0, 200*time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tiny()
				c.KV.Page = KVBMv2
				change(&c)
				e := start(t, c)
				for _, prompt := range []string{"A", "Ba", "Bb", "Bc", "Bd"} { // pushes A out of the device
					askFor(t, e, promptOf(prompt, 161), "")
				}
				var all sync.WaitGroup
				all.Go(func() { askFor(t, e, promptOf("A", 161), "") })
				time.Sleep(100 * time.Millisecond)
				if got := kvbmValues(t, e)[dynamo.KVBMInflightOnboards]; got != 10 {
					t.Errorf("%v blocks are being brought back, want 10", got)
				}
				all.Wait()
				if got := kvbmValues(t, e)[dynamo.KVBMInflightOnboards]; got != 0 {
					t.Errorf("%v blocks are being brought back when all are there", got)
				}
			})
		})
	}
}

func TestVersion2ReportsTheDurationOfOnboards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiny()
		c.KV.HostBytes, c.KV.Page = 12*16<<10, KVBMv2
		e := start(t, c)
		for _, name := range []string{"A", "Ba", "Bb", "Bc", "Bd", "A"} {
			askFor(t, e, promptOf(name, 161), "")
		}
		for _, m := range scrape(t, e.KVBMHandler(), "/metrics")[dynamo.KVBMTransferDuration].GetMetric() {
			h := m.GetHistogram()
			for _, label := range m.GetLabel() {
				if label.GetName() == "route" && (label.GetValue() == "d2h") != (h.GetSampleCount() == 1 && h.GetSampleSum() == 0.042) {
					t.Errorf("%s: %d transfers of %v s in all", label.GetValue(), h.GetSampleCount(), h.GetSampleSum())
				}
			}
		}
	})
}

func TestVersion2CountsTheDetourByTheHost(t *testing.T) {
	r := &reading{}
	r.moves.DiskToDevice, r.moves.HostToDevice = 3, 4
	got := map[string]int64{}
	for _, route := range dynamo.KVBMRoutes() {
		got[route.Blocks] = r.moved(KVBMv2, route)
	}
	if got["kvbm_onboard_blocks_d2h"] != 3 || got["kvbm_onboard_blocks_h2d"] != 7 || got["kvbm_onboard_blocks_d2d"] != 0 {
		t.Errorf("%v", got)
	}
}
