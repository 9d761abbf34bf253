package workload

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// Flags declares the flags for requests, prompts and load, in the order of --help.
func Flags(set terminal.FlagSet, s *Settings) {
	requestFlags(set, s)
	loadFlags(set, s)
}

func requestFlags(set terminal.FlagSet, s *Settings) {
	var names, kinds []string
	for _, scenario := range scenarios() {
		names, kinds = append(names, scenario.Name), append(kinds, scenario.Name+": "+scenario.help)
	}
	terminal.Flag(set, "scenario", "What to measure: "+strings.Join(names, ", ")+". "+strings.Join(kinds, "; ")+".", ScenarioStandard, &s.Scenario, parseScenario)
	terminal.Flag(set, "prompts", "Prompt set: short (512:2048 tokens), long (8192:32768), mixed (half of each), or a file. Files: ShareGPT, vLLM's multi-turn, JSONL, or text with a prompt a line.", promptsShort, &s.Prompts, terminal.Text).IsSetByUser(&s.promptsGiven)
	terminal.Flag(set, "input-tokens", "Prompt length in tokens, without what the chat template adds: N, MEAN,SD or MIN:MAX. Above the limit it is refused.", "", &s.inputTokens, parseLengths)
	set.Flag("prompt-ids", "For completions: send token ids, of exactly the length asked for. They are noise: speculative decoding and experts treat text differently.").BoolVar(&s.PromptIDs)
	terminal.Flag(set, "max-input-tokens", "Longest prompt in tokens; what the server's context leaves beside the answer, if not given.", "", &s.maxInputTokens, terminal.AtLeast(1))
	terminal.Flag(set, "token-margin", "Tokens to keep free below that limit: the chat template comes on top, and lengths may be estimates.", "256", &s.tokenMargin, terminal.AtLeast(0))
	set.Flag("clip", "Shorten prompts and conversations that are too long, instead of refusing them.").BoolVar(&s.clip)
	terminal.Flag(set, "shared-prefix-tokens", "Tokens that all prompts begin with, beside their own length.", "0", &s.sharedTokens, terminal.Between(0, traffic.MaxTokens))
	terminal.Flag(set, "template", "For completions, what makes one text of messages: none, llama3, or a file in the language of Go's text/template with .Messages, each with .Role and .Content.", traffic.TemplateNone, &s.templateFlag, terminal.Text)
	terminal.Flag(set, "output-tokens", "Cap of the output in tokens: N or MIN:MAX. What a prompt file or a trace says goes first.", "256", &s.outputTokens, parseCap).IsSetByUser(&s.outputGiven)
	set.Flag("ignore-eos", "Ask for exactly that many tokens, where the engine can.").BoolVar(&s.IgnoreEOS)
	terminal.Flag(set, "temperature", "Sampling temperature. 0 by default: outputs are hashed and compared.", "0", &s.Temperature, terminal.NumberWithin(0, 2))
	terminal.Flag(set, "top-p", "Nucleus of sampling, above 0.", "1", &s.TopP, terminal.Share)
	terminal.Flags(set, "stop", "Text that ends the output; may be repeated.", &s.Stop, terminal.Text, terminal.AsGiven)
	terminal.Flag(set, "request-seed", "Sampling seed to send with every request.", "", &s.RequestSeed, terminal.OptionalInt64)
	terminal.Flag(set, "extra-body", "JSON object of further request fields.", "", &s.ExtraBody, parseExtra)
	set.Flag("no-stream", "Ask for whole answers: no first token is seen then, and no time per token.").BoolVar(&s.NoStream)
	terminal.Flag(set, "request-timeout", "Longest time of a request.", "600s", &s.RequestTimeout, terminal.PositiveDuration)
	terminal.Flag(set, "first-token-timeout", "Longest time to its first token; that of --request-timeout if not given.", "", &s.FirstTokenTimeout, terminal.PositiveDuration)
	terminal.Flag(set, "chunk-timeout", "Longest time between two chunks.", "120s", &s.ChunkTimeout, terminal.PositiveDuration)
}

func loadFlags(set terminal.FlagSet, s *Settings) {
	terminal.Flag(set, "arrival", "closed (the next request when one ends), or by the clock: constant, poisson, gamma or trace.", string(traffic.Closed), &s.Arrival, terminal.OneOf(traffic.Arrivals()...))
	terminal.Flag(set, "concurrency", "Requests in flight: exactly that many in a closed loop (default 1), a cap otherwise (default none).", "", &s.Concurrency, terminal.AtLeast(1))
	terminal.Flag(set, "rate", "Mean arrivals a second, for constant, poisson and gamma; of all clients together in multi_turn.", "", &s.rate, terminal.Positive)
	terminal.Flag(set, "burstiness", "Shape of gamma: 1 is poisson, less comes in bursts, more evenly.", "", &s.burstiness, terminal.NumberWithin(traffic.MinBurstiness, traffic.MaxBurstiness))
	terminal.Flag(set, "stages", "Stretches of the measured phase with a level each, such as 30s:10,60s:50: arrivals a second, or requests in flight in a closed loop.", "", &s.stages, traffic.ParseStages)
	terminal.Flag(set, "ramp", "Time over which a closed loop starts its slots, in each phase. steady_state of the summary leaves it out.", "0s", &s.ramp, terminal.Duration)
	terminal.Flag(set, "trace", "Trace to replay, with --arrival trace: mooncake JSONL or Azure's CSV of LLM inference.", "", &s.TracePath, terminal.Text)
	terminal.Flags(set, "set", "KEY=VALUE, a size of the scenario, such as a.requests=24; may be repeated. A key that it does not have is answered by those that it has.", &s.sizes, parseSize, terminal.AsGiven)
	terminal.Flag(set, "fit-pressure", "Of eviction_replay and rehydrate_replay: send so many times the size of the tiers that must be filled between a set and its replay, such as 1.5.", "", &s.fitPressure, terminal.NumberWithin(0.1, 100))
	set.Flag("force", "Run a scenario that cannot show what it is for, by the sizes of the tiers.").BoolVar(&s.force)
	terminal.Flag(set, "clients", "Of multi_turn: how many requests are in flight, each by a client with conversations of its own.", "", &s.clients, terminal.AtMost(traffic.MaxSlots))
	terminal.Flag(set, "active-conversations", "Of multi_turn: how many conversations are active, of all clients together; 8 if not given.", "", &s.active, terminal.AtMost(traffic.MaxSlots))
	terminal.Flag(set, "max-turns", "Of multi_turn: most turns of the user in a conversation; the file's if not given, 4 without a file.", "", &s.maxTurns, terminal.AtMost(traffic.MaxTurns))
	terminal.Flag(set, "sampling", "Of multi_turn: which conversation a client goes on with: round_robin or random.", roundRobin, &s.sampling, terminal.OneOf(roundRobin, randomOrder)).IsSetByUser(&s.samplingGiven)
	terminal.Flag(set, "requests", "Requests to measure; 64 if --duration is not given either.", "", &s.requests, terminal.AtLeast(1)).IsSetByUser(&s.requestsGiven)
	terminal.Flag(set, "duration", "How long to measure; whichever of the two is reached first.", "", &s.duration, terminal.PositiveDuration)
	terminal.Flag(set, "warmup", "Requests, or a time, before the measured ones; in no figure.", "8", &s.warmup, parseWarmup)
	terminal.Flag(set, "grace", "How long requests in flight may go on after --duration or an interrupt.", "30s", &s.Grace, terminal.Duration)
	terminal.Flag(set, "seed", "Seed of schedule, lengths and prompts. The first 8 words of each prompt come from the run too, so that no prefix cache has them.", "1337", &s.Seed, terminal.Unsigned).IsSetByUser(&s.seedGiven)
	terminal.Flag(set, "repeat-of", "Send the exact prompts of an earlier run, with its seed, which a prefix cache may have. RUN is a run folder, or the ID of a run in --out.", "", &s.repeatOf, terminal.Text).PlaceHolder("RUN")
}

// parseWarmup reads a number of requests or a duration.
func parseWarmup(s string) (traffic.Limit, error) {
	if n, err := terminal.AtLeast(0)(s); err == nil {
		return traffic.Limit{Requests: n}, nil
	}
	if d, err := terminal.Duration(s); err == nil {
		return traffic.Limit{Duration: d}, nil
	}
	return traffic.Limit{}, fmt.Errorf("%q is neither a number of requests nor a duration", s)
}

// parseExtra reads the additional fields of requests.
func parseExtra(s string) (map[string]any, error) {
	extra, err := terminal.JSONObject(s)
	if err == nil {
		err = openai.CheckExtra(extra)
	}
	return extra, err
}
