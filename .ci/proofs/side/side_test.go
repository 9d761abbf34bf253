package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/arena"
)

const ms = int64(1e6)

// stampedAt returns a request of 1,000 prompt tokens whose events of n tokens come at equal distances.
func stampedAt(received, first, step int64, events int, n float64) request {
	r := request{ReceivedNS: received, Prompt: 1000, Status: 200}
	for i := range int64(events) {
		r.WrittenNS, r.Tokens = append(r.WrittenNS, first+i*step), append(r.Tokens, n)
	}
	return r
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestTheTruthIsOfComputedTokensAndOfTheTimeInWhichAllDecode(t *testing.T) {
	cached := stampedAt(0, 500*ms, 20*ms, 51, 1)
	cached.Cached = 600
	failed := request{Prompt: 1000, Status: 500}
	slow := stampedAt(0, 1000*ms, 50*ms, 21, 2)
	for name, c := range map[string]struct {
		batch []request
		want  figures
	}{
		"one":                  {[]request{stampedAt(100*ms, 600*ms, 20*ms, 11, 1)}, figures{2000, 50, 500}},
		"four tokens an event": {[]request{stampedAt(0, 500*ms, 80*ms, 11, 4)}, figures{2000, 50, 500}},
		"cached tokens":        {[]request{cached}, figures{800, 50, 500}},
		// Both decode from 1,000 to 1,500 ms: 50 and 40 tokens per second.
		"two, one of them late": {[]request{cached, slow}, figures{1400, 90, 750}},
		"one that failed":       {[]request{cached, failed}, figures{800, 50, 500}},
	} {
		got := stamped([][]request{c.batch, c.batch})
		near(t, name+": pp", got.PP, c.want.PP)
		near(t, name+": tg", got.TG, c.want.TG)
		near(t, name+": TTFT", got.TTFT, c.want.TTFT)
	}
	near(t, "tg from the first token to the last", customary([][]request{{cached, slow}}).TG[0], 90/1.5)
	halves := stampedAt(0, 500*ms, 20*ms, 11, 1)
	halves.Silent = []int{2, 10}
	near(t, "tg without silent events", customary([][]request{{halves}}).TG[0], 8/.18)
	near(t, "tg with them", stamped([][]request{{halves}}).TG, 50)
	apart := stamped([][]request{{stampedAt(0, 100*ms, 20*ms, 3, 1), stampedAt(0, 500*ms, 20*ms, 3, 1)}})
	if !math.IsNaN(apart.TG) {
		t.Errorf("two that never decode together have %v tokens per second", apart.TG)
	}
}

func TestTimingsAreOfOneRequestAtATime(t *testing.T) {
	one := request{Timings: &timings{PromptN: 500, PromptMS: 250, PredictedN: 11, PredictedMS: 200, CacheN: 24}}
	got := timed([][]request{{one}})
	near(t, "pp", got.PP, 2000)
	near(t, "tg", got.TG, 50)
	near(t, "TTFT", got.TTFT, 250)
	if got := timed([][]request{{one, one}}); !math.IsNaN(got.PP) {
		t.Errorf("two at once have %v", got)
	}
}

// send sends a request of some words.
func send(s *server, words string, tokens int) {
	body := fmt.Sprintf(`{"stream":true,"return_token_ids":true,"max_tokens":%d,"messages":[{"role":"user","content":%q}]}`, tokens, words)
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
}

// ask sends a request of some words and returns what the server stamped.
func ask(t *testing.T, s *server, words string, tokens int) request {
	t.Helper()
	send(s, words, tokens)
	return *s.truth.all[len(s.truth.all)-1]
}

func TestTheServerStampsWhatItWrites(t *testing.T) {
	long := strings.Repeat("word ", 997) // and three of the template
	for fault, want := range map[string]struct {
		figures
		events, cached, status int
	}{
		"none":       {figures{2000, 25, 500}, 16, 0, 200},
		"early-role": {figures{2000, 25, 500}, 16, 0, 200},
		"four":       {figures{2000, 25, 500}, 4, 0, 200},
		"no-cache":   {figures{2000, 25, 500}, 16, 0, 200},
		"failures":   {figures{2000, 25, 500}, 16, 0, 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := newServer(fault)
			if err != nil {
				t.Fatal(err)
			}
			first := ask(t, s, long, 16)
			got := stamped([][]request{{first}})
			near(t, fault+": pp", got.PP, want.PP)
			near(t, fault+": tg", got.TG, want.TG)
			near(t, fault+": TTFT", got.TTFT, want.TTFT)
			if len(first.WrittenNS) != want.events || first.Prompt != 1000 || first.Cached != 0 || first.Status != 200 {
				t.Errorf("%s: %d events, %+v", fault, len(first.WrittenNS), first)
			}
			second, third := ask(t, s, long+" more", 16), ask(t, s, "other words", 16)
			if cached := map[bool]int{true: 0, false: 992}[fault == "no-cache"]; second.Cached != cached {
				t.Errorf("%s: %d tokens of the second from the cache, want %d", fault, second.Cached, cached)
			}
			if failed := third.Status != 200; failed != (fault == "failures") || failed != (len(third.WrittenNS) == 0) {
				t.Errorf("%s: the third: %+v", fault, third)
			}
		})
	}
	if _, err := newServer("invented"); err == nil {
		t.Error("a fault that there is not")
	}
}

// timedRecorder notes when the role is written.
type timedRecorder struct {
	*httptest.ResponseRecorder
	role time.Time
}

func (w *timedRecorder) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte(`"role":"assistant"`)) {
		w.role = time.Now()
	}
	return w.ResponseRecorder.Write(text)
}

func TestAnEarlyRoleComesBeforeThePromptIsRead(t *testing.T) {
	for fault, want := range map[string]time.Duration{"none": 500 * time.Millisecond, "early-role": roleAfter} {
		synctest.Test(t, func(t *testing.T) {
			s, err := newServer(fault)
			if err != nil {
				t.Fatal(err)
			}
			body := `{"stream":true,"max_tokens":2,"messages":[{"role":"user","content":"` + strings.Repeat("a ", 997) + `"}]}`
			w, begun := &timedRecorder{ResponseRecorder: httptest.NewRecorder()}, time.Now()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
			if got := w.role.Sub(begun); got != want {
				t.Errorf("%s: the role is there after %s, want %s", fault, got, want)
			}
		})
	}
}

func TestPromptsOfABatchAreReadOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newServer("none")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() { send(s, strings.Repeat(fmt.Sprint("word", i, " "), 997), 80) })
		}
		all.Wait()
		batch := make([]request, 0, 4)
		for _, r := range s.truth.all {
			batch = append(batch, *r)
		}
		got := stamped([][]request{batch})
		near(t, "pp", got.PP, 2000)
		near(t, "tg", got.TG, 100)
		near(t, "TTFT", got.TTFT, 1250)
	})
}

func TestAPassThroughStampsWhatRealServersSent(t *testing.T) {
	for file, want := range map[string]struct {
		events, prompt, cached int
		tokens                 float64
		timings                bool
	}{
		"llama.cpp-0c1e570-chat.sse": {3, 36, 30, 3, true},
		"vllm-0.32.0-chat.sse":       {3, 14, 0, 3, false},
	} {
		text, err := os.ReadFile("../../../loadgen/openai/testdata/recorded/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var asked string
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.Method + " " + r.URL.Path
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(text)
		}))
		p, err := newPass(engine.URL)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"stream":true,"max_completion_tokens":16}`)))
		engine.Close()
		if w.Body.String() != string(text) || asked != "POST /v1/chat/completions" || len(p.truth.all) != 1 {
			t.Fatalf("%s: %s asked, %d stamped:\n%s", file, asked, len(p.truth.all), w.Body)
		}
		one := p.truth.all[0]
		sum := 0.
		for _, n := range one.Tokens {
			sum += n
		}
		if len(one.WrittenNS) != want.events || one.Prompt != want.prompt || one.Cached != want.cached || sum != want.tokens || (one.Timings != nil) != want.timings || one.Asked != 16 {
			t.Errorf("%s: %d events, %v tokens, %+v", file, len(one.WrittenNS), sum, *one)
		}
	}
	if _, err := newPass("no address"); err == nil {
		t.Error("an address without a host")
	}
}

func TestATokenWithoutTextIsSilent(t *testing.T) {
	p := &pass{}
	one := &request{}
	for _, event := range []string{
		`{"choices":[{"delta":{"role":"assistant","content":""},"token_ids":null}]}`, `{"choices":[{"delta":{"content":""},"token_ids":[1]}]}`,
		`{"choices":[{"delta":{"content":"a"},"token_ids":[2]}]}`, `{"choices":[{"delta":{"content":""},"token_ids":[3]}]}`, `{"choices":[{"delta":{"content":"b"},"token_ids":[4,5]}]}`, "[DONE]",
	} {
		p.stamp([]byte(event), one)
	}
	if fmt.Sprint(one.Tokens, one.Silent) != "[1 1 2] [1]" {
		t.Errorf("tokens %v, silent %v", one.Tokens, one.Silent)
	}
}

func TestRequestsAreCutIntoBatchesInTheOrderOfTheCells(t *testing.T) {
	cells := arena.Sizes{PP: []int{512}, TG: []int{16}, Depth: []int{0, 1024}, Concurrency: []int{1, 2}, Runs: 2}.Grid()
	all := make([]request, 2+4+4+8)
	for i := range all {
		all[i].ReceivedNS = int64(i)
	}
	rows, err := cut(all, cells)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[place]string{
		{cells[0], false}: "[[0] [1]]", {cells[1], false}: "[[2 3] [4 5]]", {cells[2], true}: "[[6] [8]]", {cells[2], false}: "[[7] [9]]",
		{cells[3], true}: "[[10 11] [14 15]]", {cells[3], false}: "[[12 13] [16 17]]",
	} {
		var got [][]int64
		for _, batch := range rows[p] {
			var received []int64
			for _, r := range batch {
				received = append(received, r.ReceivedNS)
			}
			got = append(got, received)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", p, got, want)
		}
	}
	for _, wrong := range [][]request{all[1:], append(all, request{})} {
		if _, err := cut(wrong, cells); err == nil {
			t.Errorf("%d requests are cut into batches of %d", len(wrong), len(all))
		}
	}
}

func TestAFigureOutsideOfItsBoundIsNamed(t *testing.T) {
	cells := arena.Sizes{PP: []int{512}, TG: []int{16}, Depth: []int{0}, Concurrency: []int{1}, Runs: 1}.Grid()
	p := place{cells[0], false}
	batches := [][]request{{stampedAt(0, 500*ms, 20*ms, 11, 1)}} // 2000, 50, 500
	judgedOf := func(measured, alike, theirs figures) judged {
		truth, one := map[place][][]request{p: batches}, func(f figures) map[place]values { return map[place]values{p: {[]float64{f.PP}, []float64{f.TG}}} }
		return judged{"server",
			[]session{{truth: truth, reported: map[place]figures{p: measured}, customary: one(alike)}},
			[]session{{truth: truth, reported: map[place]figures{p: theirs}, customary: one(theirs)}}}
	}
	for name, c := range map[string]struct {
		measured, alike, theirs figures
		want                    string
	}{
		"all within":           {figures{2039, 49.1, 509}, figures{4100, 39.7, 1}, figures{4000, 40, 500}, ""},
		"pp":                   {figures{2050, 50, 500}, figures{4000, 40, 1}, figures{4000, 40, 500}, "server, pp512 tg16 (c1): measured pp +2.5 % (bound 2 %)"},
		"TTFT":                 {figures{2000, 50, 480}, figures{4000, 40, 1}, figures{4000, 40, 500}, "server, pp512 tg16 (c1): measured TTFT -4.0 % (bound 2 %)"},
		"tg is missing":        {figures{2000, math.NaN(), 500}, figures{4000, 40, 1}, figures{4000, 40, 500}, "server, pp512 tg16 (c1): measured tg missing (bound 2 %)"},
		"tg as llama-benchy":   {figures{2000, 50, 500}, figures{4000, 40.5, 1}, figures{4000, 40, 500}, "server, pp512 tg16 (c1): as llama-benchy tg +1.2 % (bound 1 %)"},
		"pp as llama-benchy":   {figures{2000, 50, 500}, figures{4200, 40, 1}, figures{4000, 40, 500}, "server, pp512 tg16 (c1): as llama-benchy pp +5.0 % (bound 3 %)"},
		"llama-benchy's alone": {figures{2000, 50, 500}, figures{9000, 9, 1}, figures{9000, 9, 900}, ""},
	} {
		var table strings.Builder
		if got := strings.Join(judgedOf(c.measured, c.alike, c.theirs).table(&table, cells, stamped), "; "); got != c.want {
			t.Errorf("%s: %q, want %q\n%s", name, got, c.want, table.String())
		}
		if lines := strings.Count(table.String(), "\n"); lines != 1 {
			t.Errorf("%s: %d rows", name, lines)
		}
	}
	same := figures{2000, 50, 500}
	if wrong := judgedOf(same, same, same).table(io.Discard, cells, timed); len(wrong) != 3 {
		t.Errorf("without timings there are no figures to be near: %v", wrong)
	}
}
