package comparison

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

func briefOf(t *testing.T, c compare.Comparison) string {
	t.Helper()
	var out bytes.Buffer
	if err := Brief(&out, c); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestATerminalShowsTheAnswerFirst(t *testing.T) {
	text := briefOf(t, compared(t, experiment{models: []string{"m"}, arms: []string{"native", "container"}, runs: 8}, compare.Options{}))
	first, rest, _ := strings.Cut(text, "\n\n")
	first = strings.Join(strings.Fields(first), " ")
	for _, part := range []string{
		"container against native: output tokens per second the same within ±2 %; ",
		"memory occupied without KV cache 2", " GiB more [", "], worse; ", "15 runs, ABBA, decision grade, 1 invalid left out.",
	} {
		if !strings.Contains(first, part) {
			t.Errorf("no %q in the headline: %s", part, first)
		}
	}
	at := 0
	for _, part := range []string{
		"change [95 % CI]", "* Output tokens per second", "equivalent", "Memory occupied without KV cache", " GiB [+", "worse", " other metrics are within their margin or not decided.",
		"memory when ready: ", "page_cache +15.00 GiB", "known items differ besides: ", "order abba: native, container ×2", " caveats: ", "--all shows every metric",
	} {
		i := strings.Index(rest[at:], part)
		if i < 0 {
			t.Fatalf("no %q after the part before it:\n%s", part, rest)
		}
		at += i
	}
	if strings.Contains(rest, "GPU temperature, end") {
		t.Errorf("a metric within its margin has a row:\n%s", rest)
	}
}

func TestLinesOfTheAnswerFitATerminalOf100Columns(t *testing.T) {
	long := experiment{models: []string{"m", "n"}, arms: []string{"native", "Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4 in a container of the newest image", "x"}, runs: 6, hostile: "\x1b[31m\n"}
	for name, c := range map[string]compare.Comparison{
		"published": compared(t, published(), compare.Options{Within: []string{"model"}}),
		"long":      compared(t, long, compare.Options{}),
		"one run":   compared(t, experiment{models: []string{"m"}, arms: []string{"a", "b"}, runs: 1}, compare.Options{}),
	} {
		text := briefOf(t, c)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > briefColumns || strings.HasSuffix(line, " \n") || strings.Contains(line, "\x1b") {
				t.Errorf("%s: %d columns: %q", name, n, line)
			}
		}
		if strings.Count(text, " against ") < len(c.Strata)*(len(c.Arms)-1) {
			t.Errorf("%s: not every pair has a headline:\n%s", name, text)
		}
	}
}

func TestAHeadlineStatesWhatEachVerdictIs(t *testing.T) {
	gibs := func(low, high float64) *compare.Interval { return &compare.Interval{low * gib, high * gib} }
	memory := func(v compare.Verdict, difference float64, ci *compare.Interval) compare.Metrics {
		d := difference * gib
		return compare.Metrics{Name: figure.MemoryOccupiedWithoutKV, Unit: string(figure.Bytes), Margin: figure.Margin{Value: gib}, Verdict: v, Difference: &d, CI95: ci}
	}
	ratio := .9
	for want, m := range map[string]compare.Metrics{
		"memory occupied without KV cache 10.20 GiB more [8.00, 11.90], worse":                                 memory(compare.Worse, 10.2, gibs(8, 11.9)),
		"memory occupied without KV cache 10.20 GiB less [8.00, 11.90], better":                                memory(compare.Better, -10.2, gibs(-11.9, -8)),
		"memory occupied without KV cache 512.00 MiB more [256.00, 768.00], less than the margin of ±1.00 GiB": memory(compare.Irrelevant, .5, gibs(.25, .75)),
		"memory occupied without KV cache the same within ±1.00 GiB":                                           memory(compare.Equivalent, 0, gibs(-.1, .1)),
		"memory occupied without KV cache not decided":                                                         memory(compare.Inconclusive, 5, gibs(-16, 26)),
		"memory occupied without KV cache 25.00 GiB more [18.00, 32.00], not decided as one of many tests":     memory(compare.Inconclusive, 25, gibs(18, 32)),
		"memory occupied without KV cache 5.00 GiB more, not tested":                                           memory(compare.Undecided, 5, nil),
		"request duration, p50 10 % shorter [8, 12], better":                                                   {Name: figure.RequestDuration, Unit: string(figure.Seconds), Margin: figure.Margin{Value: .02, Relative: true}, Verdict: compare.Better, Ratio: &ratio, RatioCI95: &compare.Interval{.88, .92}},
	} {
		if got := clause(m); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
