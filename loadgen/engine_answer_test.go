package loadgen

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/sim"
)

// answersOf runs three requests of 24 tokens against a simulated engine.
func answersOf(t *testing.T, change func(*sim.Config), args ...string) []openai.Record {
	t.Helper()
	_, url := simulated(t, change)
	args = append([]string{"--url", url, "--requests=3", "--warmup=0", "--output-tokens=24", "--ignore-eos"}, args...)
	code, folder, _, stderr := invoke(t, t.Context(), args...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	return records(t, folder)
}

func TestTokensAreCountedInWhateverFormTheServerTellsThem(t *testing.T) {
	for form, source := range map[sim.UsageForm]string{
		sim.UsageOnRequest: "usage", sim.UsageInLast: "usage", sim.UsageZeroAlways: "usage", sim.UsageNever: "chunks",
	} {
		for _, r := range answersOf(t, func(c *sim.Config) { c.Vendor, c.Answer.Usage = sim.OpenAI, form }) {
			if r.TokensSource != source || r.TokensOut == nil || source == "usage" && *r.TokensOut != 24 || r.ArrivalTokens != nil {
				t.Errorf("%s: %v tokens by %s, of chunks %v", form, r.TokensOut, r.TokensSource, r.ArrivalTokens)
			}
			if told := source == "usage"; told != (r.TokensIn != nil) || told && *r.TokensIn == 0 {
				t.Errorf("%s: %v tokens of prompt", form, r.TokensIn)
			}
		}
	}
}

func TestUsageSoFarTellsTheTokensOfEveryChunk(t *testing.T) {
	for _, vendor := range []sim.Vendor{sim.VLLM, sim.TensorRTLLM, sim.SGLang} {
		for _, r := range answersOf(t, func(c *sim.Config) { c.Vendor, c.Answer.TokensPerChunk, c.Answer.MostTokensPerChunk = vendor, 1, 4 }) {
			sum, several := 0, false
			for _, n := range r.ArrivalTokens {
				sum, several = sum+n, several || n > 1
			}
			if sum != 24 || !several || len(r.ArrivalTokens) != len(r.ArrivalsNS) {
				t.Errorf("%s: %v in %d chunks", vendor, r.ArrivalTokens, len(r.ArrivalsNS))
			}
		}
	}
}

func TestReasoningAndToolCallsAreKeptApartFromText(t *testing.T) {
	const tools = `--extra-body={"tools":[{"type":"function","function":{"name":"look_up","parameters":{"type":"object"}}}]}`
	for _, vendor := range []sim.Vendor{sim.VLLM, sim.TensorRTLLM, sim.SGLang, sim.Dynamo} {
		for _, r := range answersOf(t, func(c *sim.Config) { c.Vendor, c.Answer.ReasoningTokens = vendor, 8 }) {
			if !strings.HasPrefix(r.ArrivalKinds, "rrr") || !strings.HasSuffix(r.ArrivalKinds, "ttt") || r.FirstVisibleNS == nil || *r.FirstVisibleNS < *r.FirstTokenNS {
				t.Errorf("%s: %s", vendor, r.ArrivalKinds)
			}
		}
		for _, r := range answersOf(t, func(c *sim.Config) { c.Vendor, c.Answer.ToolCalls = vendor, true }, tools) {
			if strings.Trim(r.ArrivalKinds, "c") != "" || len(r.ArrivalKinds) == 0 || r.OutputChars == 0 {
				t.Errorf("%s: %q, %d characters", vendor, r.ArrivalKinds, r.OutputChars)
			}
		}
	}
}

func TestCachedTokensOfTheServerAreKeptWithTheirTier(t *testing.T) {
	// The same prompt again and again: all of its whole blocks are on the device.
	for _, r := range answersOf(t, func(c *sim.Config) { c.Vendor = sim.SGLang }, "--shared-prefix-tokens=640")[1:] {
		if r.TokensCached == nil || *r.TokensCached < 600 || r.TokensCachedByTier == nil || *r.TokensCachedByTier.Device != *r.TokensCached {
			t.Errorf("%v cached, %+v", r.TokensCached, r.TokensCachedByTier)
		}
	}
}
