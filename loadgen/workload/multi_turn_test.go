package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/traffic"
)

// talking is the settings of a multi-turn run whose server takes as many tokens.
func talking(t *testing.T, limit int, args ...string) (*Settings, Server) {
	t.Helper()
	s, err := given(t, append([]string{"--scenario=multi_turn"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s, Server{Model: "m", MaxTokens: limit, Vendor: server.VendorOf(supported.Engines(), "vllm")}
}

func talkingWork(t *testing.T, args ...string) *Workload {
	t.Helper()
	s, f := talking(t, 0, args...)
	w, err := s.Write(f)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// order lists the first requests of a script as client/conversation/turn.
func order(s Script, phase string, first, most int) []string {
	var all []string
	for a := range s.contents(phase, first) {
		if len(all) == most {
			break
		}
		all = append(all, fmt.Sprintf("%d/%s/%d", a.worker, a.conversation, a.turn))
	}
	return all
}

func TestAClientGoesRoundItsActiveConversations(t *testing.T) {
	w := talkingWork(t, "--clients=2", "--active-conversations=4", "--max-turns=2")
	// Client 0 has conversations 0, 2, 4 and so on, two of them active, client 1 the others.
	want := []string{"0/0/1", "1/1/1", "0/2/1", "1/3/1", "0/0/2", "1/1/2", "0/2/2", "1/3/2", "0/4/1", "1/5/1"}
	if got := order(w.Script, rundir.PhaseMeasure, 0, len(want)); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	for first := range 6 {
		if got := order(w.Script, rundir.PhaseMeasure, first, 4); !slices.Equal(got, want[first:first+4]) {
			t.Errorf("from %d on: %v", first, got)
		}
	}
}

func TestARandomOrderIsThatOfTheSeed(t *testing.T) {
	args := []string{"--clients=2", "--active-conversations=8", "--max-turns=5", "--sampling=random"}
	first := order(talkingWork(t, args...).Script, rundir.PhaseMeasure, 0, 200)
	if !slices.Equal(first, order(talkingWork(t, args...).Script, rundir.PhaseMeasure, 0, 200)) {
		t.Error("the same seed gave another order")
	}
	if slices.Equal(first, order(talkingWork(t, append(args, "--seed=2")...).Script, rundir.PhaseMeasure, 0, 200)) {
		t.Error("another seed gave the same order")
	}
	turns := map[string]int{}
	for _, name := range first {
		var client, conversation, turn int
		if _, err := fmt.Sscanf(name, "%d/%d/%d", &client, &conversation, &turn); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint(conversation)
		if turns[key]++; turns[key] != turn || turn > 5 || conversation%2 != client {
			t.Fatalf("%s came after %d turns of its conversation", name, turns[key]-1)
		}
	}
}

// history is a server that answers with the number of messages it was sent, after a time of its own.
type history struct {
	mutex  sync.Mutex
	bodies map[string][]openai.Message // by the user's last message
	fails  func(question string) bool
	takes  func() time.Duration
}

func (k *history) send(_ context.Context, j *Job, clock openai.Clock, _ func()) openai.Result {
	result := openai.Result{Record: openai.Record{DispatchNS: new(clock()), Status: openai.StatusOK}}
	var body struct{ Messages []openai.Message }
	if err := json.Unmarshal(j.Request.Body, &body); err != nil || !j.Request.KeepText {
		result.Record.Status, result.Record.Error = openai.StatusHTTP, fmt.Sprint(err)
		return result
	}
	question := body.Messages[len(body.Messages)-1].Content
	k.mutex.Lock()
	k.bodies[question] = body.Messages
	takes := k.takes()
	k.mutex.Unlock()
	time.Sleep(takes)
	result.Record.EndNS = new(clock())
	if result.Text = fmt.Sprintf("answer to %d", len(body.Messages)); k.fails(question) {
		result.Record.Status, result.Text = openai.StatusTruncated, "half an ans"
	}
	return result
}

// converse drives the measured phase of a workload on a virtual clock.
func converse(t *testing.T, w *Workload, k *history) []openai.Record {
	t.Helper()
	k.bodies = map[string][]openai.Message{}
	start := time.Now()
	clock := func() int64 { return int64(time.Since(start)) }
	l := &Loop{Clock: clock, Send: k.send, Wait: waitByTimer(clock), Slots: w.Script.Slots, Grace: time.Minute}
	p := w.Phases[len(w.Phases)-1]
	q := w.Prepare(t.Context(), p, io.Discard)
	var mutex sync.Mutex
	var records []openai.Record
	l.Drive(t.Context(), t.Context(), p, q.Jobs(), Observer{
		Started: func() {}, Payload: func() {},
		Ended: func(_ Job, result openai.Result) {
			mutex.Lock()
			defer mutex.Unlock()
			records = append(records, result.Record)
		},
	})
	if err := q.Rest(); err != nil {
		t.Error(err)
	}
	slices.SortFunc(records, func(a, b openai.Record) int { return a.Index - b.Index })
	return records
}

// threeTalks are conversations of three turns, two and one; two of them have the same name.
const threeTalks = "testdata/talks.json"

func promptFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prompts.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func contents(messages []openai.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Content)
	}
	return strings.Join(all, "|")
}

func TestAConversationContinuesWithTheServersRealAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails string
		want  map[string]string
	}{
		{"all is well", "", map[string]string{"a1": "S|a1", "a2": "S|a1|answer to 2|a2", "a3": "S|a1|answer to 2|a2|answer to 4|a3", "b1": "b1", "b2": "b1|answer to 1|b2", "c1": "c1"}},
		{"a failed turn is not in the history", "a2", map[string]string{"a2": "S|a1|answer to 2|a2", "a3": "S|a1|answer to 2|a3"}},
		{"nor was the first one, but for the system", "a1", map[string]string{"a2": "S|a2", "a3": "S|a2|answer to 2|a3"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &history{fails: func(question string) bool { return question == c.fails }, takes: func() time.Duration { return time.Second }}
			records := converse(t, talkingWork(t, "--prompts", threeTalks, "--warmup=0"), k)
			if len(records) != 6 {
				t.Fatalf("%s: %d requests, want the 6 turns", c.name, len(records))
			}
			for question, want := range c.want {
				if got := contents(k.bodies[question]); got != want {
					t.Errorf("%s: with %s was sent %q, want %q", c.name, question, got, want)
				}
			}
		})
	}
}

func TestATurnIsDueWhenItsClientHasItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &history{fails: func(string) bool { return false }, takes: func() time.Duration { return 300 * time.Millisecond }}
		records := converse(t, talkingWork(t, "--prompts", threeTalks, "--clients=2", "--warmup=0"), k)
		// Client 0 has a1 c1 a2 a3, client 1 has b1 b2; one of each in turn.
		expectTimes(t, "intended", records, intendedOf, 0, 0, 300, 300, 600, 900)
		expectTimes(t, "dispatched", records, dispatchOf, 0, 0, 300, 300, 600, 900)
		for _, r := range records {
			if r.Conversation == "" || r.Turn < 1 || (r.PrefixSHA256 != "") != (r.Turn > 1 || r.Conversation == "a" && r.Index == 0) {
				t.Errorf("record %d: conversation %q, turn %d, prefix %q", r.Index, r.Conversation, r.Turn, r.PrefixSHA256)
			}
		}
	})
}

func TestRequestsDoNotDependOnTheSpeedOfAnswers(t *testing.T) {
	run := func(seed uint64) (all []string) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			k := &history{fails: func(string) bool { return false }, takes: func() time.Duration { return time.Duration(1+random.IntN(900)) * time.Millisecond }}
			for _, r := range converse(t, talkingWork(t, "--clients=3", "--requests=60", "--warmup=0", "--input-tokens=20", "--sampling=random"), k) {
				all = append(all, fmt.Sprintf("%d %s/%d %s %s", r.Index, r.Conversation, r.Turn, r.PromptSHA256, r.PrefixSHA256))
			}
		})
		return all
	}
	if first := run(1); len(first) != 60 || !slices.Equal(first, run(2)) {
		t.Errorf("%d requests, or others with another pace", len(first))
	}
}

func TestOpenArrivalsOfConversationsKeepTheirIntendedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &history{fails: func(string) bool { return false }, takes: func() time.Duration { return 250 * time.Millisecond }}
		records := converse(t, talkingWork(t, "--arrival=constant", "--rate=10", "--requests=6", "--clients=2", "--warmup=0", "--input-tokens=20"), k)
		expectTimes(t, "intended", records, intendedOf, 0, 100, 200, 300, 400, 500)
		expectTimes(t, "eligible", records, eligibleOf, 0, 100, 250, 350, 500, 600)
	})
}

func TestThePlanOfConversationsIsWrittenBeforeTheyBegin(t *testing.T) {
	w := talkingWork(t, "--clients=3", "--requests=20", "--input-tokens=20", "--shared-prefix-tokens=30")
	_, entries := plan(t, w)
	if len(entries) != 28 {
		t.Fatalf("%d lines", len(entries))
	}
	byIndex := map[int]rundir.ScheduleLine{}
	for _, e := range entries[8:] {
		byIndex[e.Index] = e
		if e.Client == nil || *e.Client != e.Index%3 || e.Conversation == "" || (e.PrefixSHA256 != "") != (e.Turn == 1) {
			t.Errorf("line %+v", e)
		}
	}
	q := w.Prepare(t.Context(), w.Phases[1], io.Discard)
	for worker, jobs := range q.Jobs() {
		for j := range jobs {
			e := byIndex[j.Index]
			delete(byIndex, j.Index)
			if j.PromptSHA256 != e.PromptSHA256 || *e.Client != worker || j.Turn != e.Turn || j.MaxTokens != e.MaxTokens {
				t.Errorf("planned %+v, prepared %+v", e, j)
			}
		}
	}
	if err := q.Rest(); err != nil || len(byIndex) != 0 {
		t.Errorf("%d planned requests were not prepared, %v", len(byIndex), err)
	}
}

func TestEndlessConversationsArePlannedBlockByBlockWhicheverClientIsAhead(t *testing.T) {
	w := talkingWork(t, "--clients=3", "--duration=1h", "--input-tokens=4", "--warmup=0")
	_, entries := plan(t, w)
	if len(entries) != planBlock {
		t.Fatalf("%d lines planned ahead", len(entries))
	}
	written := &lockedBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	q := w.Prepare(ctx, w.Phases[0], written)
	for range planBlock { // three times as far as the whole block for one client, the others wait
		<-q[1].jobs
	}
	cancel()
	if err := q.Rest(); err != nil {
		t.Error(err)
	}
	next := planBlock
	for line := range strings.Lines(written.String()) {
		var e rundir.ScheduleLine
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			break // the block that was being written when it was cut
		}
		if e.Index != next {
			t.Fatalf("line of request %d, want %d", e.Index, next)
		}
		next++
	}
	if next < 3*planBlock {
		t.Errorf("planned up to request %d only", next)
	}
}

func TestConversationsStayBelowTheLimitWithTheirAnswers(t *testing.T) {
	long := `[{"messages": [{"role": "user", "content": "` + strings.Repeat("word ", 200) + `"}, {"role": "user", "content": "` + strings.Repeat("word ", 200) + `"}]}]`
	for _, c := range []struct {
		name  string
		limit int
		args  []string
		turns []int
		says  string
	}{
		{"room for all", 5000, []string{"--prompts", promptFile(t, long)}, []int{2}, ""},
		{"room for one turn", 1000, []string{"--prompts", promptFile(t, long)}, nil, "turn 2 of conversation 1"},
		{"cut on demand", 1000, []string{"--prompts", promptFile(t, long), "--clip"}, []int{1}, ""},
		{"room for none", 600, []string{"--prompts", promptFile(t, long), "--clip"}, nil, "turn 1 of conversation 1"},
		{"a set is cut", 5000, nil, nil, ""},
		{"turns asked for are not", 3000, []string{"--max-turns=9"}, nil, "--max-turns"},
	} {
		s, f := talking(t, c.limit, c.args...)
		made, err := s.Scenario.write(s, f)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if err == nil && c.turns != nil {
			if got := len(order(made, rundir.PhaseMeasure, 0, 10)); got != c.turns[0] {
				t.Errorf("%s: %d turns, want %d", c.name, got, c.turns[0])
			}
		}
	}
	// 2048 of prompt and 256 of answer in each turn, 256 of margin: two turns in 5000.
	s, f := talking(t, 5000)
	if made, err := s.Scenario.write(s, f); err != nil || made.Facts.MaxTurns != 2 {
		t.Errorf("%d turns, %v", made.Facts.MaxTurns, err)
	}
}

func BenchmarkTurnWithALongHistory(b *testing.B) {
	w := &Workload{model: "m", vendor: server.VendorOf(supported.Engines(), "vllm"), Sampling: rundir.Sampling{Endpoint: string(openai.Chat), Stream: true, TopP: 1}}
	history := newConversation()
	history.append(openai.Message{Role: "user", Content: strings.Repeat("word ", 100_000)})
	speak, _ := w.turn(history, draft{prompt: traffic.Prompt{Text: "and then?"}, sampling: w.Sampling})
	b.ReportAllocs()
	for b.Loop() {
		var j Job
		if err := speak(&j); err != nil {
			b.Fatal(err)
		}
	}
}
