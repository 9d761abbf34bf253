package summary

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// asking is a run whose prompts have so many tokens in common with those of other runs.
func asking(t *testing.T, common int) inputs {
	t.Helper()
	in := input(t)
	in.PrefixReuse = &rundir.PrefixReuse{CommonTokens: &common}
	return in
}

// cached sets what the server counted of a prompt.
func cached(target, repeated, in, hits int) func(*openai.Record) {
	return func(r *openai.Record) {
		r.InputTokensTarget, r.RepeatedTokensTarget, r.TokensIn, r.TokensCached = target, repeated, &in, &hits
	}
}

func prefixReuse(s Summary) string {
	for _, reason := range s.InvalidReasons {
		if reason.Code == CodePrefixReuse {
			return reason.Detail
		}
	}
	return ""
}

// The tokens of chat templates before and after the text of the user: Qwen2.5 and Llama 3.1 with their default system
// message, gpt-oss with that of harmony. "Words:" is 2 tokens, its 8 words 8.
var templates = map[string]struct{ before, after int }{"Qwen2.5": {24, 5}, "Llama 3.1": {30, 5}, "gpt-oss": {64, 3}, "none": {1, 0}}

func TestChatTemplatesAreNoReuseOfPrompts(t *testing.T) {
	const input, opening, words, n = 128, 2, 8, 1000
	for name, template := range templates {
		for _, block := range []int{1, 16, 32, 64, 128} {
			common := template.before + template.after + opening + words
			total := template.before + input + template.after
			// Among a thousand prompts, one or two words agree by chance: an engine of blocks of one token finds them.
			fresh, warm := (template.before+opening+min(2, 16/block))/block*block, (total-1)/block*block
			s := summarize(t, asking(t, common), testrun.Altered(n, n, cached(input, 0, total, fresh))...)
			if !s.Valid || !slices.Contains(s.Checked, "prompts") || s.PrefixCache == nil || s.PrefixCache.HitTokens != int64(n*fresh) || *s.PrefixCache.UnplannedHitTokens != 0 {
				t.Errorf("%s, blocks of %d: %v, %+v", name, block, s.InvalidReasons, s.PrefixCache)
			}
			if s = summarize(t, asking(t, common), testrun.Altered(n, n, cached(input, 0, total, warm))...); !slices.Equal(codes(s), []Code{CodePrefixReuse}) {
				t.Errorf("%s, blocks of %d, prompts of an earlier run: %v, %+v", name, block, s.InvalidReasons, s.PrefixCache)
			}
		}
	}
}

func TestPromptsFromACacheAreSummedRequestByRequest(t *testing.T) {
	// Of 100 requests of 200 tokens one is found whole but for its last block: 192 - 40 of 20,000 tokens are 0.76 %. That
	// the others found less than they might takes nothing off.
	one, two := testrun.Altered(100, 100, cached(180, 0, 200, 0)), testrun.Altered(100, 100, cached(180, 0, 200, 16))
	cached(180, 0, 200, 192)(&one[7])
	if s := summarize(t, asking(t, 40), one...); !s.Valid || *s.PrefixCache.UnplannedHitTokens != 152 {
		t.Errorf("%v, %+v", s.InvalidReasons, s.PrefixCache)
	}
	cached(180, 0, 200, 192)(&two[7])
	cached(180, 0, 200, 192)(&two[9])
	s := summarize(t, asking(t, 40), two...)
	if want := "304 of 20000 prompt tokens (1.52 %) came from a prefix cache beyond what the schedule repeats"; !strings.Contains(prefixReuse(s), want) {
		t.Errorf("%q, want %q", prefixReuse(s), want)
	}
	in := asking(t, 40)
	in.Limits = Limits{CodePrefixReuse: {Value: 0.02}}
	if s := summarize(t, in, two...); !s.Valid {
		t.Errorf("an own limit of 2 %%: %v", s.InvalidReasons)
	}
}

func TestWhatTheScheduleRepeatsIsNoReuse(t *testing.T) {
	shared := testrun.Altered(100, 100, cached(200, 150, 230, 176))
	longer := testrun.Altered(100, 100, cached(200, 150, 290, 216)) // the server counts 1.3 tokens a word
	replay := testrun.Altered(100, 100, cached(200, 200, 230, 229))
	for name, records := range map[string][]openai.Record{"a shared beginning": shared, "one of estimated length": longer, "a replay": replay} {
		if s := summarize(t, asking(t, 40), records...); !s.Valid || *s.PrefixCache.UnplannedHitTokens != 0 {
			t.Errorf("%s: %v, %+v", name, s.InvalidReasons, s.PrefixCache)
		}
	}
	warm := testrun.Altered(100, 100, cached(200, 150, 230, 224))
	if s := summarize(t, asking(t, 40), warm...); !slices.Equal(codes(s), []Code{CodePrefixReuse}) {
		t.Errorf("more than the shared beginning: %v, %+v", s.InvalidReasons, s.PrefixCache)
	}
}

// talked are conversations of four turns of 100 tokens with answers of 50; hits are of turns in terms of their history.
func talked(hits func(turn, history, in int) int) []openai.Record {
	records := testrun.Steady(40)
	for i := range records {
		r, turn := &records[i], 1+i/10 // ten conversations, turn by turn
		history := (turn - 1) * 150
		in, out := history+100, 50
		cached(100, 0, in, hits(turn, history, in))(r)
		r.TokensOut, r.Session, r.Conversation, r.Turn = &out, "0", fmt.Sprint(i%10), turn
	}
	return records
}

func TestTheHistoryOfAConversationIsNoReuse(t *testing.T) {
	if s := summarize(t, asking(t, 20), talked(func(turn, history, _ int) int { return history })...); !s.Valid || *s.PrefixCache.UnplannedHitTokens != 0 {
		t.Errorf("%v, %+v", s.InvalidReasons, s.PrefixCache)
	}
	// The whole of a conversation was there before: of each turn 99 or 100 tokens beyond its history.
	s := summarize(t, asking(t, 20), talked(func(_, _, in int) int { return in - 1 })...)
	if !slices.Equal(codes(s), []Code{CodePrefixReuse}) || *s.PrefixCache.UnplannedHitTokens != 10*(79+3*99) {
		t.Errorf("%v, %+v", s.InvalidReasons, s.PrefixCache)
	}
	// Without the answer's tokens, the length of the history is unknown.
	unknown := talked(func(_, _, in int) int { return in - 1 })
	for i := range unknown {
		unknown[i].TokensOut = nil
	}
	if s := summarize(t, asking(t, 20), unknown...); *s.PrefixCache.UnplannedHitTokens != 10*79 {
		t.Errorf("%+v", s.PrefixCache)
	}
}

func TestPromptsThatWereAskedToRepeatAreACaveat(t *testing.T) {
	warm := testrun.Altered(100, 100, cached(180, 0, 200, 192))
	for _, why := range []string{"--repeat-of", "--same-prompts", "the prompts of a file"} {
		in := asking(t, 40)
		in.PrefixReuse.Repeats = why
		s := summarize(t, in, warm...)
		want := "15200 of 20000 prompt tokens (76 %) came from a prefix cache beyond what the schedule repeats (" + why + "): the server had seen these prompts"
		if !s.Valid || slices.Contains(s.Checked, "prompts") || !strings.Contains(strings.Join(s.Warnings, "\n"), want) {
			t.Errorf("%s: %v, warnings %q, want %q", why, s.InvalidReasons, s.Warnings, want)
		}
		if cold := summarize(t, in, testrun.Altered(100, 100, cached(180, 0, 200, 16))...); strings.Contains(strings.Join(cold.Warnings, "\n"), "prefix cache") {
			t.Errorf("%s, and nothing was found: %q", why, cold.Warnings)
		}
	}
}

func TestTheEngineCountsWhereAnswersDoNotIfItServedNoOtherClient(t *testing.T) {
	records := testrun.Altered(100, 100, cached(180, 0, 200, 0))
	for i := range records {
		records[i].TokensCached = nil
	}
	for _, c := range []struct {
		name    string
		engine  *rundir.PrefixLookups
		known   bool
		invalid bool
	}{
		{"no counters", nil, false, false},
		{"alone, and cold", &rundir.PrefixLookups{Tokens: 20000, HitTokens: 1600}, true, false},
		{"alone, and warm", &rundir.PrefixLookups{Tokens: 20000, HitTokens: 19200}, true, true},
		{"with others", &rundir.PrefixLookups{Tokens: 24000, HitTokens: 23000}, false, false},
		{"with a few others", &rundir.PrefixLookups{Tokens: 20150, HitTokens: 4300}, true, false}, // 150 of them may be theirs
		{"of a part of the requests", &rundir.PrefixLookups{Tokens: 15000, HitTokens: 15000}, false, false},
	} {
		in := asking(t, 40)
		in.PrefixReuse.Engine = c.engine
		s := summarize(t, in, records...)
		if (s.PrefixCache != nil) != c.known || slices.Contains(s.Checked, "prompts") != c.known || (prefixReuse(s) != "") != c.invalid {
			t.Errorf("%s: %+v, %v, checked %v", c.name, s.PrefixCache, s.InvalidReasons, s.Checked)
		}
		if c.known && s.PrefixCache.Source != hitsOfEngine {
			t.Errorf("%s: by the %s", c.name, s.PrefixCache.Source)
		}
	}
}

func TestReuseIsNotJudgedWhereTheCommonBeginningIsUnknown(t *testing.T) {
	warm := testrun.Altered(100, 100, cached(180, 0, 200, 192))
	in := asking(t, 0)
	in.PrefixReuse.CommonTokens = nil
	if s := summarize(t, in, warm...); !s.Valid || slices.Contains(s.Checked, "prompts") || s.PrefixCache.HitTokens != 19200 || s.PrefixCache.UnplannedHitTokens != nil {
		t.Errorf("%v, %+v", s.InvalidReasons, s.PrefixCache)
	}
	// A folder of an earlier version: its prompts came from the seed alone, and may have been sent before.
	if s := summarize(t, input(t), warm...); !s.Valid || s.PrefixCache != nil {
		t.Errorf("%v, %+v", s.InvalidReasons, s.PrefixCache)
	}
}
