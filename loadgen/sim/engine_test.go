package sim

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// paced has figures that make arithmetic easy: a millisecond per prompt token, 10 ms a step and 1
// more per sequence, no jitter.
func paced() Config {
	c := Default()
	c.PrefillTokensPerSecond, c.PrefillChunkTokens = 1000, 1000
	c.DecodeBase, c.DecodePerSequence, c.JitterRatio = 10*time.Millisecond, time.Millisecond, 0
	return c
}

// start runs an engine until the test ends.
func start(t *testing.T, c Config) *Engine {
	t.Helper()
	e, stop := startFor(t, c)
	t.Cleanup(stop)
	return e
}

// serving reports whether requests are accepted.
func serving(e *Engine) bool {
	open, _ := e.serves()
	return open
}

// startFor runs an engine until stop is called.
func startFor(t *testing.T, c Config) (e *Engine, stop func()) {
	t.Helper()
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	for !serving(e) {
		time.Sleep(time.Millisecond)
	}
	return e, sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// client is a response as it comes in, with the time of every write.
type client struct {
	header http.Header
	status int
	began  time.Time
	events []event
	body   strings.Builder
}

type event struct {
	at   time.Duration // since the request was sent
	data string
}

func (c *client) Header() http.Header    { return c.header }
func (c *client) WriteHeader(status int) { c.status = status }
func (c *client) Flush()                 {}

func (c *client) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			c.events = append(c.events, event{time.Since(c.began), strings.TrimSpace(data)})
		}
	}
	return c.body.Write(text)
}

// post sends one request and returns when it has ended.
func post(ctx context.Context, e *Engine, path, body string) *client {
	c := &client{header: http.Header{}, status: http.StatusOK, began: time.Now()}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	e.Handler().ServeHTTP(c, r)
	return c
}

// tenTokens asks for so many tokens of answer to a prompt of ten, streaming.
func tenTokens(answer string) string {
	return `{"model":"simulated-8b","prompt":"a b c d e f g h i j","stream":true,"ignore_eos":true,"temperature":0,"max_tokens":` + answer + `}`
}

const path = "/v1/completions"

// tokenTimes are the times of the events that carry text, in milliseconds.
func (c *client) tokenTimes() []int64 {
	var times []int64
	for _, e := range c.events {
		if strings.Contains(e.data, `"text":`) {
			times = append(times, e.at.Milliseconds())
		}
	}
	return times
}

// text is what was answered.
func (c *client) text(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, e := range c.events {
		var r response
		if e.data == "[DONE]" {
			continue
		}
		if err := json.Unmarshal([]byte(e.data), &r); err != nil {
			t.Fatal(err)
		}
		for _, choice := range r.Choices {
			if choice.Text != nil {
				text.WriteString(*choice.Text)
			}
			if choice.Delta != nil {
				text.WriteString(choice.Delta.Content)
			}
		}
	}
	return text.String()
}

func TestFirstTokenComesAfterPrefillAndOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, paced())
		got := post(t.Context(), e, path, tenTokens("4"))
		wantTimes(t, "alone", got, 21, 32, 43, 54)
	})
}

func wantTimes(t *testing.T, name string, c *client, want ...int64) {
	t.Helper()
	got := c.tokenTimes()
	if len(got) != len(want) {
		t.Fatalf("%s: tokens after %v ms, want %v: %s", name, got, want, c.body.String())
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: tokens after %v ms, want %v", name, got, want)
		}
	}
}

func TestABatchOfEightTakesTheTimeOfEightSequences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, paced())
		var all sync.WaitGroup
		// One keeps the engine busy until the eight are there: they join at the same step.
		all.Go(func() { wantTimes(t, "the one before", post(t.Context(), e, path, tenTokens("1")), 101) })
		time.Sleep(5 * time.Millisecond)
		for range 8 {
			all.Go(func() {
				// 5 ms until the step under way ends, 80 of prefill with 11 of decode, then steps of 10 + 8.
				wantTimes(t, "one of eight", post(t.Context(), e, path, tenTokens("3")), 5+80+11+18, 5+80+11+36, 5+80+11+54)
			})
		}
		all.Wait()
	})
}

func TestTheOneBeyondTheBatchWaitsForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := paced()
		c.MaxBatch = 1
		e := start(t, c)
		var all sync.WaitGroup
		all.Go(func() { wantTimes(t, "first", post(t.Context(), e, path, tenTokens("5")), 21, 32, 43, 54, 65) })
		time.Sleep(15 * time.Millisecond)
		wantTimes(t, "second", post(t.Context(), e, path, tenTokens("1")), 50+10+11)
		all.Wait()
	})
}

func TestTheOneThatDoesNotFitIntoTheKVCacheWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := paced()
		c.MaxModelTokens, c.KVCacheTokens = 15, 29 // two of 15 do not fit, although there are places
		e := start(t, c)
		var all sync.WaitGroup
		all.Go(func() { post(t.Context(), e, path, tenTokens("5")) })
		time.Sleep(15 * time.Millisecond)
		wantTimes(t, "second", post(t.Context(), e, path, tenTokens("5")), 71, 82, 93, 104, 115)
		all.Wait()
	})
}

func TestAnIdleEngineBeginsWhenTheRequestComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, paced())
		post(t.Context(), e, path, tenTokens("1"))
		time.Sleep(7 * time.Millisecond) // less than what counts as late
		wantTimes(t, "the next", post(t.Context(), e, path, tenTokens("1")), 21)
	})
}

func TestTheAnswerDoesNotDependOnWhoElseRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, paced())
		alone := post(t.Context(), e, path, tenTokens("50")).text(t)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 7 * time.Millisecond)
				post(t.Context(), e, path, strings.Replace(tenTokens("40"), "a b", strings.Repeat("x ", i+1), 1))
			})
		}
		time.Sleep(50 * time.Millisecond)
		if crowded := post(t.Context(), e, path, tenTokens("50")).text(t); crowded != alone || countTokens(alone) != 50 {
			t.Errorf("alone %q, in a crowd %q", alone, crowded)
		}
		all.Wait()
	})
}

func TestLateWakeUpsDoNotAddUpButStallsAreNotMadeUpFor(t *testing.T) {
	due := time.Unix(1000, 0)
	if got := stepStart(due, due.Add(2*time.Millisecond)); got != due {
		t.Errorf("2 ms late: counts from %v after it was due", got.Sub(due))
	}
	if got := stepStart(due, due.Add(time.Second)); got != due.Add(time.Second) {
		t.Errorf("1 s late: counts from %v after it was due", got.Sub(due))
	}
}

func TestStepsVaryByTheJitterAndTheSeed(t *testing.T) {
	times := func(seed uint64) (times []int64) {
		synctest.Test(t, func(t *testing.T) {
			c := paced()
			c.JitterRatio, c.Seed = 0.2, seed
			times = post(t.Context(), start(t, c), path, tenTokens("30")).tokenTimes()
		})
		return times
	}
	first, again, other := times(1), times(1), times(2)
	same, varied := true, false
	for i := range first {
		if first[i] != again[i] {
			t.Fatalf("the same seed gave %v and %v", first, again)
		}
		same = same && first[i] == other[i]
		if i > 0 {
			gap := first[i] - first[i-1]
			varied = varied || gap != 11
			if gap < 8 || gap > 14 { // 11 ms, 20 % either way, and the rounding to milliseconds
				t.Errorf("a step of %d ms", gap)
			}
		}
	}
	if same || !varied {
		t.Errorf("nothing varies: %v, other seed %v", first, other)
	}
}

func TestAClientThatLeavesFreesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := paced()
		c.MaxBatch = 1
		e := start(t, c)
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 2 { // one runs, one waits
			all.Go(func() { post(ctx, e, path, tenTokens("1000")) })
		}
		time.Sleep(50 * time.Millisecond)
		if use, _ := e.use(time.Now()); use.Running != 1 || use.Waiting != 1 || use.KVTokens == 0 {
			t.Errorf("before: %+v", use)
		}
		leave()
		all.Wait()
		if use, _ := e.use(time.Now()); use.Running != 0 || use.Waiting != 0 || use.KVTokens != 0 {
			t.Errorf("after: %+v", use)
		}
		if got := len(post(t.Context(), e, path, tenTokens("2")).tokenTimes()); got != 2 {
			t.Errorf("the next client got %d tokens", got)
		}
	})
}

// stuck is a client that does not read.
type stuck struct {
	client
	done <-chan struct{}
}

func (s *stuck) Write(text []byte) (int, error) {
	<-s.done
	return len(text), nil
}

func TestAClientThatDoesNotReadDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, paced())
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(tenTokens("100")))
			e.Handler().ServeHTTP(&stuck{client{header: http.Header{}}, ctx.Done()}, r)
		})
		time.Sleep(22 * time.Millisecond)
		// 10 ms until the step ends, 10 of prefill with 11 of decode, then steps for two.
		wantTimes(t, "another client", post(t.Context(), e, path, tenTokens("2")), 10+21+12, 10+21+24)
		leave()
		all.Wait()
	})
}

func TestStoppingTheEngineFailsRequestsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := paced()
		c.MaxBatch = 1
		e, stop := startFor(t, c)
		var all sync.WaitGroup
		var begun, queued *client
		all.Go(func() { begun = post(t.Context(), e, path, tenTokens("1000")) })
		time.Sleep(time.Millisecond)
		all.Go(func() { queued = post(t.Context(), e, path, tenTokens("1000")) })
		time.Sleep(50 * time.Millisecond)
		stop()
		all.Wait()
		last := begun.events[len(begun.events)-2:]
		if begun.status != 200 || len(begun.tokenTimes()) == 0 || !strings.Contains(last[0].data, `{"error":{"message":"`) || last[1].data != "[DONE]" {
			t.Errorf("a stream under way ends with %v", last)
		}
		if queued.status != http.StatusServiceUnavailable || !strings.Contains(queued.body.String(), `"type":"server_error"`) {
			t.Errorf("one that waits gets %d: %s", queued.status, queued.body.String())
		}
		if after := post(t.Context(), e, path, tenTokens("1")); after.status != http.StatusServiceUnavailable {
			t.Errorf("one that comes later gets %d", after.status)
		}
	})
}

// get asks for one path.
func get(e *Engine, path string) *client {
	c := &client{header: http.Header{}, status: http.StatusOK, began: time.Now()}
	e.Handler().ServeHTTP(c, httptest.NewRequest(http.MethodGet, path, nil))
	return c
}
