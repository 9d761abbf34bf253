package workload

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/flagvalue"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/schedule"
)

// Flags declares the flags for requests, prompts and load, in the order of --help.
func Flags(set flagvalue.Set, s *Settings) {
	requestFlags(set, s)
	loadFlags(set, s)
}

func requestFlags(set flagvalue.Set, s *Settings) {
	var kinds []string
	for _, scenario := range scenarios() {
		kinds = append(kinds, scenario.Name+": "+scenario.help)
	}
	flagvalue.Flag(set, "scenario", "What to measure. "+strings.Join(kinds, "; ")+".", ScenarioStandard, &s.Scenario, parseScenario)
	flagvalue.Flag(set, "prompts", "Prompt set: short (512:2048 tokens), long (8192:32768), mixed (either, half of the requests each), or a file: ShareGPT, conversations or a generator file of vLLM's multi-turn benchmark, JSONL with prompt or messages, or text, a prompt a line.", promptsShort, &s.Prompts, flagvalue.Text).IsSetByUser(&s.promptsGiven)
	flagvalue.Flag(set, "input-tokens", "Prompt length in tokens, without what the chat template adds: N, MEAN,SD or MIN:MAX. Lengths of a prompt set are kept below the limit, lengths given here are refused above it.", "", &s.inputTokens, parseLengths)
	set.Flag("prompt-ids", "For completions: send prompts as token ids, so that they have exactly the length asked for, whatever the tokenizer. Refused unless the server counts as many tokens as it is sent. What such prompts say is noise, which speculative decoding and the routing of experts do not treat as they treat text.").BoolVar(&s.PromptIDs)
	flagvalue.Flag(set, "max-input-tokens", "Longest prompt in tokens; what the server's context leaves beside the answer, if not given.", "", &s.maxInputTokens, flagvalue.AtLeast(1))
	flagvalue.Flag(set, "token-margin", "Tokens to keep free below that limit: the chat template comes on top, and lengths may be estimates.", "256", &s.tokenMargin, flagvalue.AtLeast(0))
	set.Flag("clip", "Shorten prompts and conversations that are too long, instead of refusing them.").BoolVar(&s.clip)
	flagvalue.Flag(set, "shared-prefix-tokens", "Tokens that all prompts begin with, beside their own length.", "0", &s.sharedTokens, flagvalue.Between(0, prompt.MaxTokens))
	flagvalue.Flag(set, "template", "For completions, what makes one text of messages: none, llama3, or a file in the language of Go's text/template with .Messages, each with .Role and .Content.", prompt.TemplateNone, &s.templateFlag, flagvalue.Text)
	flagvalue.Flag(set, "output-tokens", "Cap of the output in tokens: N or MIN:MAX. What a prompt file or a trace says goes first.", "256", &s.outputTokens, parseCap).IsSetByUser(&s.outputGiven)
	set.Flag("ignore-eos", "Ask for exactly that many tokens, where the engine can.").BoolVar(&s.IgnoreEOS)
	flagvalue.Flag(set, "temperature", "Sampling temperature. 0 by default: outputs are hashed and compared.", "0", &s.Temperature, flagvalue.NumberWithin(0, 2))
	flagvalue.Flag(set, "top-p", "Nucleus of sampling, above 0.", "1", &s.TopP, flagvalue.Share)
	flagvalue.Flags(set, "stop", "Text that ends the output; may be repeated.", &s.Stop, flagvalue.Text, flagvalue.AsGiven)
	flagvalue.Flag(set, "request-seed", "Sampling seed to send with every request.", "", &s.RequestSeed, flagvalue.OptionalInt64)
	flagvalue.Flag(set, "extra-body", "JSON object of further request fields.", "", &s.ExtraBody, parseExtra)
	set.Flag("no-stream", "Ask for whole answers: no first token is seen then, and no time per token.").BoolVar(&s.NoStream)
	flagvalue.Flag(set, "request-timeout", "Longest time of a request.", "600s", &s.RequestTimeout, flagvalue.PositiveDuration)
	flagvalue.Flag(set, "first-token-timeout", "Longest time to its first token; that of --request-timeout if not given.", "", &s.FirstTokenTimeout, flagvalue.PositiveDuration)
	flagvalue.Flag(set, "chunk-timeout", "Longest time between two chunks.", "120s", &s.ChunkTimeout, flagvalue.PositiveDuration)
}

func loadFlags(set flagvalue.Set, s *Settings) {
	flagvalue.Flag(set, "arrival", "closed (the next request when one ends), or by the clock: constant, poisson, gamma or trace.", string(schedule.Closed), &s.Arrival, flagvalue.OneOf(schedule.Arrivals()...))
	flagvalue.Flag(set, "concurrency", "Requests in flight: exactly that many in a closed loop (default 1), a cap otherwise (default none).", "", &s.Concurrency, flagvalue.AtLeast(1))
	flagvalue.Flag(set, "rate", "Mean arrivals a second, for constant, poisson and gamma; of all clients together in multi_turn.", "", &s.rate, flagvalue.Positive)
	flagvalue.Flag(set, "burstiness", "Shape of gamma: 1 is poisson, less comes in bursts, more evenly.", "", &s.burstiness, flagvalue.NumberWithin(schedule.MinBurstiness, schedule.MaxBurstiness))
	flagvalue.Flag(set, "stages", "Stretches of the measured phase with a level each, such as 30s:10,60s:50: arrivals a second, or requests in flight in a closed loop.", "", &s.stages, schedule.ParseStages)
	flagvalue.Flag(set, "ramp", "Time over which a closed loop starts its slots, evenly, in place of all at once. The warm-up and the measured phase each begin so, for the server is idle in between. Requests of that time are measured like all others; steady_state of the summary leaves them out.", "0s", &s.ramp, flagvalue.Duration)
	flagvalue.Flag(set, "trace", "Trace to replay, with --arrival trace: mooncake JSONL or Azure's CSV of LLM inference.", "", &s.TracePath, flagvalue.Text)
	flagvalue.Flags(set, "set", "KEY=VALUE, a size of the scenario, such as a.requests=24; may be repeated. A key that it does not have is answered by those that it has.", &s.sizes, parseSize, flagvalue.AsGiven)
	flagvalue.Flag(set, "fit-pressure", "Of eviction_replay and rehydrate_replay: send so many times the size of the tiers that must be filled between a set and its replay, such as 1.5.", "", &s.fitPressure, flagvalue.NumberWithin(0.1, 100))
	set.Flag("force", "Run a scenario that cannot show what it is for, by the sizes of the tiers.").BoolVar(&s.force)
	flagvalue.Flag(set, "clients", "Of multi_turn: how many requests are in flight, each by a client with conversations of its own.", "", &s.clients, flagvalue.AtMost(schedule.MaxSlots))
	flagvalue.Flag(set, "active-conversations", "Of multi_turn: how many conversations are active, of all clients together; 8 if not given.", "", &s.active, flagvalue.AtMost(schedule.MaxSlots))
	flagvalue.Flag(set, "max-turns", "Of multi_turn: most turns of the user in a conversation; the file's if not given, 4 without a file.", "", &s.maxTurns, flagvalue.AtMost(prompt.MaxTurns))
	flagvalue.Flag(set, "sampling", "Of multi_turn: which conversation a client goes on with: round_robin or random.", roundRobin, &s.sampling, flagvalue.OneOf(roundRobin, randomOrder)).IsSetByUser(&s.samplingGiven)
	flagvalue.Flag(set, "requests", "Requests to measure; 64 if --duration is not given either.", "", &s.requests, flagvalue.AtLeast(1)).IsSetByUser(&s.requestsGiven)
	flagvalue.Flag(set, "duration", "How long to measure; whichever of the two is reached first.", "", &s.duration, flagvalue.PositiveDuration)
	flagvalue.Flag(set, "warmup", "Requests, or a time, before the measured ones; in no figure.", "8", &s.warmup, parseWarmup)
	flagvalue.Flag(set, "grace", "How long requests in flight may go on after --duration or an interrupt.", "30s", &s.Grace, flagvalue.Duration)
	flagvalue.Flag(set, "seed", "Seed of schedule, lengths and prompts. The first 8 words of each prompt come from the run too, so that no server has them in its prefix cache from an earlier run; workload_sha256 leaves them out.", "1337", &s.Seed, flagvalue.Unsigned).IsSetByUser(&s.seedGiven)
	flagvalue.Flag(set, "repeat-of", "Send the exact prompts of an earlier run, with its seed: a server that has them in its prefix cache answers from there. RUN is a run folder, or the ID of a run in --out.", "", &s.repeatOf, flagvalue.Text).PlaceHolder("RUN")
}

// parseWarmup reads a number of requests or a duration.
func parseWarmup(s string) (schedule.Limit, error) {
	if n, err := flagvalue.AtLeast(0)(s); err == nil {
		return schedule.Limit{Requests: n}, nil
	}
	if d, err := flagvalue.Duration(s); err == nil {
		return schedule.Limit{Duration: d}, nil
	}
	return schedule.Limit{}, fmt.Errorf("%q is neither a number of requests nor a duration", s)
}

// parseExtra reads the additional fields of requests.
func parseExtra(s string) (map[string]any, error) {
	extra, err := flagvalue.JSONObject(s)
	if err == nil {
		err = openai.CheckExtra(extra)
	}
	return extra, err
}
