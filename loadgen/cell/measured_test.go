package cell

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
)

const ms = int64(1e6)

// answer returns a request that was sent at a moment, whose tokens come one by one at moments after it.
func answer(sent int64, tokensIn int, cached *int, after ...int64) openai.Record {
	r := openai.Record{
		Phase: "batch_1", IntendedNS: sent, EligibleNS: &sent, DispatchNS: &sent, Status: openai.StatusOK,
		TokensIn: &tokensIn, TokensCached: cached, TokensOut: new(len(after)), TokensSource: "usage", FirstEventType: "payload",
	}
	for i, wait := range after {
		at := sent + wait
		if i == 0 {
			r.FirstEventNS, r.FirstTokenNS, r.ArrivalsNS = new(at), new(at), []int64{at}
		} else {
			r.ArrivalsNS = append(r.ArrivalsNS, wait-after[i-1])
		}
		r.ArrivalTokens = append(r.ArrivalTokens, 1)
	}
	r.EndNS = new(sent + after[len(after)-1] + ms)
	return r
}

// steps returns the moments of n tokens, the first after a wait.
func steps(wait, step int64, n int) []int64 {
	var all []int64
	for i := range n {
		all = append(all, wait+int64(i)*step)
	}
	return all
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestTheWorkedExample: a depth of 4096 by five requests at once on an engine that decodes five of them in 24.2 ms a
// step and reads their prompts one after the other, so that first tokens are 4.3 s apart. Its figures were taken on the
// simulated engine: 54.2 t/s as llama-benchy where all together make 206.5, 47.1 and 207.4 without a cache, and 338 t/s
// of prompt processing where 4,608 tokens took 1.516 s.
func TestTheWorkedExample(t *testing.T) {
	deep := func(apart, slow, together int64) Row {
		row := Row{Position: Position{Depth: 4096, Concurrency: 5, Prompt: 512, Response: 64}, Context: true}
		var batch []openai.Record
		last := 1400*ms + 4*apart
		for i := range int64(5) {
			wait := 1400*ms + i*apart
			var after []int64
			for at := wait; len(after) < 64; {
				after = append(after, at)
				if at+slow <= last {
					at += slow // others read their prompts
				} else {
					at = max(at, last) + together
				}
			}
			batch = append(batch, answer(0, 4097, nil, after...))
		}
		row.Batches = [][]openai.Record{batch}
		return row
	}
	hits, misses := deep(1075*ms, 170*ms, 24_213_000), deep(1300*ms, 210*ms, 24_108_000)
	for row, want := range map[*Row][2]float64{&hits: {54.2, 206.5}, &misses: {47.1, 207.4}} {
		theirs, ours := row.LlamaBenchy(), row.Measured()
		near(t, "tg as llama-benchy", theirs.Decode.Mean, want[0], .03)
		near(t, "tg while all decode", ours.Decode.Mean, want[1], .001)
		if flags := flagNames(*row); !slices.Contains(flags, PrefillInTG) {
			t.Errorf("flags %v", flags)
		}
	}
	alone := Row{Position: Position{Depth: 4096, Concurrency: 1, Prompt: 512, Response: 64}, Cached: true, Batches: [][]openai.Record{{answer(0, 4608, new(0), steps(1516*ms, 20*ms, 64)...)}}}
	near(t, "pp as llama-benchy", alone.LlamaBenchy().Prefill.Mean, 338, .001)
	near(t, "computed tokens over TTFT", alone.Measured().Prefill.Mean, 3040, .001)
	if causes := fmt.Sprint(alone.Causes()); !strings.Contains(causes, "pp counts 512 tokens of a prompt, the server computed 4608") || !slices.Contains(flagNames(alone), CacheMissed) {
		t.Errorf("%s, %v", causes, flagNames(alone))
	}
	hit := Row{Position: alone.Position, Cached: true, Batches: [][]openai.Record{{answer(0, 4608, new(4096), steps(195_700_000, 20*ms, 64)...)}}}
	near(t, "pp with hits", hit.LlamaBenchy().Prefill.Mean, 2616, .001)
	near(t, "computed tokens with hits", hit.Measured().Prefill.Mean, 2616, .001)
	if flags := hit.Flags(); len(flags) > 0 {
		t.Errorf("flags %v of a sound cell", flags)
	}
}

// TestACacheHoldsADepthInWholeBlocks: what does not fill one is no miss, and a block more is.
func TestACacheHoldsADepthInWholeBlocks(t *testing.T) {
	for _, of := range []struct {
		depth, block, cached int
		missed               bool
	}{
		{256, 128, 128, false}, {256, 128, 0, true}, {1024, 128, 896, false}, {1024, 128, 768, true}, {64, 128, 0, false},
		{64, 16, 48, false}, {64, 16, 32, true}, {4096, 16, 4080, false}, {4096, 16, 3600, true}, {100_000, 128, 89_800, true},
		// A server that does not report its blocks may have the largest that engines have by default, and holds something.
		{1024, 0, 896, false}, {1024, 0, 768, true}, {64, 0, 16, false}, {64, 0, 0, true},
	} {
		row := Row{Position: Position{Depth: of.depth, Concurrency: 1, Prompt: 200, Response: 8}, Cached: true, CacheBlock: of.block,
			Batches: [][]openai.Record{{answer(0, of.depth+200, &of.cached, steps(100*ms, 20*ms, 8)...)}}}
		if got := slices.Contains(flagNames(row), CacheMissed); got != of.missed {
			t.Errorf("%+v: flags %v", of, row.Flags())
		}
	}
}

func flagNames(r Row) []string {
	var names []string
	for _, f := range r.Flags() {
		names = append(names, f.Name)
	}
	return names
}

// TestMeasuredStaysAtTheTruthOfAFaultyServer, which decodes 50 tokens a second and reads 3,000: by more than a fault in
// what it sends the figures of llama-benchy leave it.
func TestMeasuredStaysAtTheTruthOfAFaultyServer(t *testing.T) {
	const truth, reads = 50., 3000.
	sound := func() openai.Record { return answer(0, 3000, nil, steps(1000*ms, 20*ms, 33)...) }
	fourAnEvent := func(ids bool) openai.Record {
		r := answer(0, 3000, nil, steps(1000*ms, 80*ms, 8)...)
		r.TokensOut, r.ArrivalTokens = new(32), nil
		for range 8 {
			if ids {
				r.ArrivalTokens = append(r.ArrivalTokens, 4)
			}
		}
		return r
	}
	early := sound()
	early.FirstEventNS, early.FirstEventType = new(2*ms), "role"
	failed := sound()
	failed.Status, failed.HTTPStatus, failed.FirstTokenNS, failed.ArrivalsNS, failed.ArrivalTokens, failed.TokensOut = openai.StatusHTTP, 500, nil, nil, nil, nil
	short := answer(0, 3000, nil, steps(1000*ms, 20*ms, 8)...)
	usageSoFar := fourAnEvent(true)
	usageSoFar.ArrivalTokensSource = "usage"
	silent := answer(0, 3000, nil, steps(1000*ms, 40*ms, 17)...) // every other token has no text of its own
	for i := range silent.ArrivalTokens {
		silent.ArrivalTokens[i], silent.SilentTokens = 2, append(silent.SilentTokens, 1)
	}
	silent.TokensOut, silent.ArrivalTokensSource = new(34), "token_ids"
	for name, of := range map[string]struct {
		request            openai.Record
		prefill, decode    float64 // as llama-benchy
		flag, cause, other string
	}{
		"sound":               {request: sound(), prefill: reads, decode: truth},
		"early role":          {request: early, prefill: 1_500_000, decode: truth, flag: EarlyRole, cause: "pp ends at the first event, 998 ms before the first token"},
		"four an event":       {request: fourAnEvent(true), prefill: reads, decode: truth},
		"four without ids":    {request: fourAnEvent(false), prefill: reads, decode: 31 / .56, cause: "spread evenly, the first event's too"},
		"usage in each event": {request: usageSoFar, prefill: reads, decode: 31 / .56, cause: "spread evenly, the first event's too"},
		"half without text":   {request: silent, prefill: reads, decode: truth / 2, cause: "17 of 34 tokens in events without text are not counted"},
		"answers of 8 tokens": {request: short, prefill: reads, decode: truth, flag: ShortAnswers},
		"one failed":          {request: sound(), prefill: reads, decode: truth, flag: "errors 1 of 2"},
	} {
		row := Row{Position: Position{Concurrency: 1, Prompt: 3000, Response: 32}, Batches: [][]openai.Record{{of.request}}}
		if strings.HasPrefix(of.flag, "errors") {
			row.Batches = append(row.Batches, []openai.Record{failed})
		}
		theirs, ours := row.LlamaBenchy(), row.Measured()
		near(t, name+": pp as llama-benchy", theirs.Prefill.Mean, of.prefill, 1e-9)
		near(t, name+": tg as llama-benchy", theirs.Decode.Mean, of.decode, 1e-9)
		near(t, name+": pp measured", ours.Prefill.Mean, reads, 1e-9)
		near(t, name+": tg measured", ours.Decode.Mean, truth, 1e-9)
		if flags := strings.Join(flagNames(row), ","); flags != of.flag {
			t.Errorf("%s: flags %q", name, flags)
		}
		if causes := fmt.Sprint(row.Causes()); !strings.Contains(causes, of.cause) {
			t.Errorf("%s: %s", name, causes)
		}
	}
}

// TestThePeakOfLessThanASecondIsAFencePostTooMany.
func TestThePeakOfLessThanASecondIsAFencePostTooMany(t *testing.T) {
	row := Row{Position: Position{Concurrency: 1, Prompt: 3000, Response: 8}, Batches: [][]openai.Record{{answer(0, 3000, nil, steps(1000*ms, 20*ms, 8)...)}}}
	near(t, "peak", row.LlamaBenchy().Peak.Mean, 8/.14, 1e-9)
	if causes := fmt.Sprint(row.Causes()); !strings.Contains(causes, "n tokens over n - 1 steps") {
		t.Error(causes)
	}
	row.Batches[0][0] = answer(0, 3000, nil, steps(1000*ms, 20*ms, 100)...)
	near(t, "peak of 2 s", row.LlamaBenchy().Peak.Mean, 50, .02)
}

// TestThePrefillLineHasTheServersRateAndItsConstant: each prompt takes a step of 20 ms more than its reading.
func TestThePrefillLineHasTheServersRateAndItsConstant(t *testing.T) {
	var rows []Row
	for _, n := range []int{256, 1024, 4096} {
		wait := int64(float64(n)/3000*1e9) + 20*ms
		rows = append(rows, Row{Position: Position{Concurrency: 1, Prompt: n, Response: 8}, Batches: [][]openai.Record{{answer(0, n, nil, steps(wait, 20*ms, 8)...)}}})
	}
	line, ok := PrefillLine(rows)
	if !ok || line.Requests != 3 {
		t.Fatalf("%+v", line)
	}
	near(t, "slope", line.TokensPerSecond, 3000, 1e-6)
	near(t, "intercept", line.InterceptSeconds, .02, 1e-6)
	if line, ok := PrefillLine(rows[:1]); ok {
		t.Errorf("a line of one length: %+v", line)
	}
	// A template makes lengths differ by a token or two, and a prompt behind a depth is slower for its length.
	cached := 4096
	deep := Row{Position: Position{Depth: cached, Concurrency: 1, Prompt: 4096, Response: 8}, Cached: true, Batches: [][]openai.Record{{answer(0, 8192, &cached, steps(9000*ms, 20*ms, 8)...)}}}
	nearly := Row{Position: Position{Concurrency: 1, Prompt: 4097, Response: 8}, Batches: [][]openai.Record{{answer(0, 4097, nil, steps(9000*ms, 20*ms, 8)...)}}}
	if line, ok := PrefillLine([]Row{rows[2], deep, nearly}); ok {
		t.Errorf("a line of lengths that hardly differ: %+v", line)
	}
	if line, ok := PrefillLine(append(rows, deep)); !ok || line.Requests != 3 {
		t.Errorf("a depth is in the line: %+v", line)
	}
}

// drawn returns a row of random requests, as odd as a server may answer.
func drawn(r *rand.Rand) Row {
	row := Row{
		Position: Position{Depth: r.IntN(3) * 1000, Concurrency: 1 + r.IntN(4), Prompt: r.IntN(2000), Response: 1 + r.IntN(40)},
		Context:  r.IntN(4) == 0, LatencySeconds: r.Float64() * .01,
	}
	row.Cached = !row.Context && row.Depth > 0 && r.IntN(2) == 0
	at := int64(0)
	for range r.IntN(4) {
		var batch []openai.Record
		for range r.IntN(row.Concurrency + 1) {
			batch = append(batch, drawnRequest(r, at))
		}
		row.Batches = append(row.Batches, batch)
		at += int64(20e9)
	}
	return row
}

func drawnRequest(r *rand.Rand, at int64) openai.Record {
	var after []int64
	wait := int64(r.IntN(3e9))
	for range 1 + r.IntN(30) {
		after = append(after, wait)
		wait += int64(r.IntN(50)) * ms // also several at one moment
	}
	request := answer(at+int64(r.IntN(1e6)), r.IntN(4000), nil, after...)
	switch r.IntN(6) {
	case 0:
		request.ArrivalTokens = nil
		request.TokensOut = new(r.IntN(60))
	case 1:
		for i := range request.ArrivalTokens {
			request.ArrivalTokens[i] = r.IntN(5)
		}
	case 2:
		request.TokensCached = new(r.IntN(4000))
	case 3:
		request.FirstEventType, request.FirstEventNS = "role", new(*request.DispatchNS+int64(r.IntN(1+int(after[0]))))
	case 4:
		request.Status, request.HTTPStatus, request.FirstTokenNS, request.ArrivalsNS, request.ArrivalTokens, request.FirstEventNS, request.FirstEventType = openai.StatusHTTP, 503, nil, nil, nil, nil, ""
	case 5:
		request.Status, request.EndNS, request.BrokenOffNS = openai.StatusTimeout, nil, request.EndNS
	}
	return request
}

// figures returns all numbers of a row by name.
func figures(r Row) map[string]float64 {
	all := map[string]float64{}
	for name, m := range r.LlamaBenchy().metrics() {
		if m != nil {
			all[name], all[name+" sd"] = m.Mean, m.SD
		}
	}
	ours := r.Measured()
	for name, e := range map[string]*Estimate{"pp": ours.Prefill, "tg": ours.Decode, "tg each": ours.DecodeEach} {
		if e != nil {
			all[name] = e.Mean
			if e.SD != nil {
				all[name+" sd"], all[name+" low"], all[name+" high"] = *e.SD, e.Interval.Low, e.Interval.High
			}
		}
	}
	if w := ours.TTFT; w != nil {
		all["ttft"], all["ttft min"], all["ttft max"], all["ttft n"] = w.Mean, w.Min, w.Max, float64(w.N)
	}
	return all
}

// TestFiguresOfAnyRequests are numbers, and depend neither on the order of the requests of a batch nor on when the run
// began.
func TestFiguresOfAnyRequests(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range 3000 {
		row := drawn(r)
		want := figures(row)
		for name, v := range want {
			seen[name]++
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 && !strings.HasSuffix(name, "low") {
				t.Fatalf("%s is %v of %+v", name, v, row)
			}
		}
		shuffled := row
		shuffled.Batches = nil
		for _, batch := range row.Batches {
			other := slices.Clone(batch)
			r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
			shuffled.Batches = append(shuffled.Batches, other)
		}
		same(t, "shuffled", figures(shuffled), want, 1e-9)
		same(t, "later", figures(shifted(row, 3600e9)), want, 1e-6) // moments of seconds have fewer digits then
		var text strings.Builder
		if err := WriteText(&text, []Row{row}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "NaN") || strings.Contains(text.String(), "Inf") {
			t.Fatalf("%s", text.String())
		}
	}
	if len(seen) != 34 {
		t.Errorf("%d figures were seen: %v", len(seen), seen)
	}
}

func same(t *testing.T, how string, got, want map[string]float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d figures, want %d: %v, %v", how, len(got), len(want), got, want)
	}
	for name, v := range want {
		if math.Abs(got[name]-v) > tolerance*max(1, math.Abs(v)) {
			t.Fatalf("%s: %s is %v, want %v", how, name, got[name], v)
		}
	}
}

// shifted returns the same requests later in the run.
func shifted(row Row, by int64) Row {
	move := func(at *int64) *int64 {
		if at == nil {
			return nil
		}
		return new(*at + by)
	}
	batches := row.Batches
	row.Batches = nil
	for _, batch := range batches {
		var later []openai.Record
		for _, r := range batch {
			r.DispatchNS, r.FirstEventNS, r.FirstTokenNS, r.EndNS = move(r.DispatchNS), move(r.FirstEventNS), move(r.FirstTokenNS), move(r.EndNS)
			if len(r.ArrivalsNS) > 0 {
				r.ArrivalsNS = slices.Clone(r.ArrivalsNS)
				r.ArrivalsNS[0] += by
			}
			later = append(later, r)
		}
		row.Batches = append(row.Batches, later)
	}
	return row
}

// A fit of few requests may have its constant below 0, which no time to first token is.
func TestThePrefillLineHasNoNegativeTime(t *testing.T) {
	for want, line := range map[string]Line{
		"TTFT of one request at a time is 20 ms and 1 s for every 2319 computed tokens (3 requests).": {2319, .02, 3},
		"TTFT of one request at a time grows by 1 s for every 2319 computed tokens (3 requests).":     {2319, -.0254, 3},
	} {
		if got := line.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAPeakIsNoDifferenceOfTheColumns(t *testing.T) {
	row := Row{Position: Position{Concurrency: 1, Prompt: 3000, Response: 8}, Batches: [][]openai.Record{{answer(0, 3000, nil, steps(1000*ms, 20*ms, 8)...)}}}
	var text strings.Builder
	if err := WriteText(&text, []Row{row}); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Contains(got, "Where the columns differ") || !strings.Contains(got, "Where llama-benchy's peak t/s, not shown above, is more than 3 % over the measured mean:") {
		t.Errorf("%s", got)
	}
}
