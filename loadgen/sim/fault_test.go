package sim

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/vllm"
	"github.com/umascope/umascope/exporter/metric"
)

// faulty has one fault, that happens to every second request from the first on.
func faulty(fault Fault) Config {
	c := instant()
	fault.Numbers = []uint64{1, 3, 5, 7}
	c.Faults.Requests = []Fault{fault}
	return c
}

// streamed is what a client of a real server reads of one stream, and how it ends.
func streamed(t *testing.T, url, more string) (status int, text string, err error) {
	t.Helper()
	body := `{"model":"simulated-8b","prompt":"hello","max_tokens":8,"ignore_eos":true,"temperature":0,"stream":true` + more + `}`
	response, err := http.Post(url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return response.StatusCode, string(read), err
}

func TestFaultsOfRequestsLookAsTheyDoInTheWild(t *testing.T) {
	for _, row := range []struct {
		fault  Fault
		status int
		broken bool // the connection breaks
		tokens int
		done   bool
		has    string
	}{
		{Fault{Kind: FaultRefuse}, 500, false, 0, false, `"error":{"message":"an error that was asked for"`},
		{Fault{Kind: FaultErrorEvent, AfterTokens: 3}, 200, false, 3, true, `data: {"error":{"message":"an error that was asked for"`},
		{Fault{Kind: FaultErrorEvent}, 200, false, 0, true, `data: {"error":{"message":"an error that was asked for"`},
		{Fault{Kind: FaultErrorEvent, AfterTokens: 99}, 200, false, 8, true, `data: {"error":{"message":"an error that was asked for"`},
		{Fault{Kind: FaultTruncate, AfterTokens: 3}, 200, false, 3, false, ""},
		{Fault{Kind: FaultCut, AfterTokens: 3}, 200, true, 3, false, ""},
		{Fault{Kind: FaultStall, AfterTokens: 3, For: time.Millisecond}, 200, false, 8, true, ""},
	} {
		_, server := serve(t, faulty(row.fault))
		status, text, err := streamed(t, server.URL, "")
		if status != row.status || (err != nil) != row.broken {
			t.Errorf("%s: status %d, %v", row.fault.Kind, status, err)
		}
		if got := strings.Count(text, `"text":`); got != row.tokens || strings.Contains(text, "[DONE]") != row.done || !strings.Contains(text, row.has) {
			t.Errorf("%s after %d tokens: %d tokens, %.300q", row.fault.Kind, row.fault.AfterTokens, got, text)
		}
		status, text, err = streamed(t, server.URL, "")
		if status != 200 || err != nil || strings.Count(text, `"text":`) != 8 || !strings.HasSuffix(text, "data: [DONE]\n\n") || len(text) > 1<<14 {
			t.Errorf("the request after %s: status %d, %v, %.300q", row.fault.Kind, status, err, text)
		}
	}
}

func TestFaultsReachAnswersInOnePieceToo(t *testing.T) {
	for kind, want := range map[FaultKind]struct {
		status int
		broken bool
	}{
		FaultRefuse: {500, false}, FaultErrorEvent: {500, false}, FaultTruncate: {0, true}, FaultCut: {0, true},
		FaultStall: {200, false},
	} {
		c := faulty(Fault{Kind: kind, For: time.Microsecond})
		_, server := serve(t, c)
		response, err := http.Post(server.URL+path, "application/json", strings.NewReader(`{"model":"simulated-8b","prompt":"hello"}`))
		if (err != nil) != want.broken {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if err == nil {
			if response.Body.Close(); response.StatusCode != want.status {
				t.Errorf("%s: status %d", kind, response.StatusCode)
			}
		}
	}
}

func TestAStallDelaysTheRestOfTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := paced()
		c.Faults.Requests = []Fault{{Kind: FaultStall, Ratio: 1, AfterTokens: 2, For: time.Minute}}
		if got := post(t.Context(), start(t, c), path, tenTokens("6")).tokenTimes(); got[1] != 32 || got[2] < 60_000 {
			t.Errorf("tokens after %v", got)
		}
	})
}

func TestTheModelDisappearsWithTheRequestOfTheFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiny()
		c.Faults.Requests = []Fault{{Kind: FaultDropModel, Numbers: []uint64{2}}}
		e := start(t, c)
		for number, want := range []int{http.StatusOK, http.StatusOK, http.StatusNotFound} {
			if got := post(t.Context(), e, path, tenTokens("1")); got.status != want {
				t.Errorf("request %d: status %d, want %d", number+1, got.status, want)
			}
		}
	})
}

func TestAnEndlessStallEndsWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := paced()
		c.Faults.Requests = []Fault{{Kind: FaultStall, Ratio: 1, AfterTokens: 2}}
		e := start(t, c)
		ctx, leave := context.WithTimeout(t.Context(), time.Hour)
		defer leave()
		got := post(ctx, e, path, tenTokens("6"))
		if n := len(got.tokenTimes()); n != 2 || time.Since(got.began) < time.Hour {
			t.Errorf("%d tokens, ended after %v", n, time.Since(got.began))
		}
		if use, _ := e.use(time.Now()); use.Running != 0 || use.KVTokens != 0 {
			t.Errorf("still in use: %+v", use)
		}
	})
}

func TestTheShareOfFaultsIsDrawnBySeedAndNumber(t *testing.T) {
	f := Faults{Requests: []Fault{{Kind: FaultCut, Ratio: 0.1}}}
	count := func(seed uint64) (hit []uint64) {
		for n := range uint64(10000) {
			if f.of(seed, n).Kind != "" {
				hit = append(hit, n)
			}
		}
		return hit
	}
	first := count(1)
	if len(first) < 850 || len(first) > 1150 { // five standard deviations
		t.Errorf("%d of 10000", len(first))
	}
	if !slices.Equal(first, count(1)) || slices.Equal(first, count(2)) {
		t.Error("it does not depend on the seed alone")
	}
}

func TestWrongKVComesFromTheDiskAloneAndCountsAsAHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiny()
		c.Faults.WrongKV = true
		e := start(t, c)
		a := promptOf("A", 161)
		right := askFor(t, e, a, "")
		if onDevice := askFor(t, e, a, ""); onDevice.text != right.text || onDevice.cached != 160 {
			t.Errorf("from the device: %+v", onDevice)
		}
		for i := range 8 {
			askFor(t, e, promptOf("B"+letter(i), 161), "")
		}
		wrong := askFor(t, e, a, "")
		if wrong.cached != 160 || kvbmValues(t, e)["kvbm_onboard_blocks_d2d"] != 10 {
			t.Fatalf("not from the disk: %+v", wrong)
		}
		if wrong.text == right.text || wrong.text[:1] == right.text[:1] {
			t.Errorf("%q after %q", wrong.text, right.text)
		}
		if again := askFor(t, e, a, ""); again.text == right.text {
			t.Error("what the device got from the disk was right after all")
		}
		if fresh := askFor(t, e, a, `,"cache_salt":"fresh"`); fresh.text != right.text {
			t.Errorf("uncached: %q, want %q", fresh.text, right.text)
		}
	})
}

// divergence is the first token in which two answers differ, -1 for none.
func divergence(a, b string) int {
	if a == b {
		return -1
	}
	x, y := cut(a), cut(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return i
		}
	}
	return min(len(x), len(y))
}

func TestDriftIsRareLateAndOfTheBatch(t *testing.T) {
	c := Default()
	f := Faults{Drift: Drift{Ratio: 0.2, FromToken: 8}}
	differ, circumstances := 0, 0
	for i := range 400 {
		prompt := ask(strings.Repeat("x ", i+1), 60)
		prompt.ignoreEOS = true
		prompt.text = newTranscript(16, "")
		prompt.text.write(prompt.prompt)
		s := newSequence(uint64(i), prompt, write(c, prompt), time.Time{})
		if f.twist(1, s, s.number, 1) != straight() {
			t.Fatal("it differs alone")
		}
		four, five := f.twist(1, s, s.number, 4), f.twist(1, s, s.number, 5)
		if four != f.twist(1, s, s.number+9, 4) {
			t.Fatal("the same batch gave another answer")
		}
		if four != five {
			circumstances++
		}
		if at := divergence(s.answer.text, writeTwisted(c, prompt, four).text); at >= 0 {
			differ++
			if at < 8 {
				t.Errorf("differs from token %d on", at)
			}
		}
	}
	if differ < 50 || differ > 110 || circumstances < 90 {
		t.Errorf("%d of 400 differ, %d by the size of the batch", differ, circumstances)
	}
}

func TestAnswersOfASingleSequenceDriftOnlyIfConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiny()
		c.Faults.Drift = Drift{Ratio: 0.5, Alone: true}
		e := start(t, c)
		texts := map[string]int{}
		for range 20 {
			texts[askFor(t, e, promptOf("A", 50), "").text]++
		}
		plain := ask(promptOf("A", 50), 12)
		plain.ignoreEOS = true
		straight := write(c, plain).text
		if len(texts) < 4 || texts[straight] < 4 || texts[straight] > 16 {
			t.Errorf("%d different answers, %d of 20 as they should be", len(texts), texts[straight])
		}
	})
}

func TestTheModelGoesAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiered(Dynamo)
		c.MaxPromptTokens, c.DropOnLongPrompt = 100, true
		e := start(t, c)
		models := func() string { return get(e, "/v1/models").body.String() }
		if !strings.Contains(models(), `"owned_by":"nvidia-simulated"`) {
			t.Errorf("before: %s", models())
		}
		if got := post(t.Context(), e, path, `{"model":"simulated-8b","prompt":"`+promptOf("A", 101)+`"}`); got.status != http.StatusBadRequest {
			t.Errorf("a prompt too long: status %d", got.status)
		}
		if !strings.Contains(models(), `"data":[]`) || !strings.Contains(get(e, "/health").body.String(), "unhealthy") {
			t.Errorf("after it: %s, %s", models(), get(e, "/health").body.String())
		}
		if got := post(t.Context(), e, path, tenTokens("1")); got.status != http.StatusNotFound {
			t.Errorf("a request after it: status %d", got.status)
		}
		if err := e.SetFaults(Faults{}); err != nil {
			t.Fatal(err)
		}
		if got := post(t.Context(), e, path, tenTokens("1")); got.status != http.StatusOK {
			t.Errorf("when it is back: status %d", got.status)
		}
		if err := e.SetFaults(Faults{Requests: []Fault{{Kind: "?"}}}); err == nil {
			t.Error("a fault of no kind was accepted")
		}
	})
}

func TestCountersResetWithoutARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, tiny())
		askFor(t, e, promptOf("A", 161), "")
		e.ResetCounters()
		askFor(t, e, promptOf("A", 161), "")
		values, families := kvbmValues(t, e), pageOf(t, e)
		if values["kvbm_offload_blocks_d2h"] != 0 || plainValue(families[vllm.PrefixHits]) != 160 ||
			plainValue(families[metric.VLLMPromptTokensTotal.Def().Name]) != 161 {
			t.Errorf("after the reset: %v", values)
		}
	})
}
