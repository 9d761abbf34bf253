package workload

import (
	"fmt"
	"strings"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// Flags declares the flags for requests, prompts and load, in the order of --help.
func Flags(set terminal.FlagSet, s *Settings) {
	requestFlags(set, s)
	loadFlags(set, s)
}

// CellFlags declares those of the flags that the cells of an arena have.
func CellFlags(set terminal.FlagSet, s *Settings) {
	samplingFlags(set, s)
	timeoutFlags(set, s)
	seedFlags(set, s)
}

func requestFlags(set terminal.FlagSet, s *Settings) {
	var kinds []string
	for _, scenario := range scenarios() {
		kinds = append(kinds, scenario.Name+" ("+scenario.help+")")
	}
	terminal.Flag(set, "scenario", "What to measure: "+strings.Join(kinds, ", ")+".", ScenarioStandard, &s.Scenario, parseScenario)
	terminal.Flag(set, "prompts", "Prompt set: short (512:2048 tokens), long (8192:32768), mixed, or a file.", promptsShort, &s.Prompts, terminal.Text).IsSetByUser(&s.promptsGiven)
	terminal.Flag(set, "input-tokens", "Prompt length in tokens, without chat template: N, MEAN,SD or MIN:MAX.", "", &s.inputTokens, parseLengths)
	set.Flag("prompt-ids", "For completions: send token ids, noise of exactly the length asked for.").BoolVar(&s.PromptIDs)
	terminal.Flag(set, "max-input-tokens", "Longest prompt in tokens; default: the server's context without the answer.", "", &s.maxInputTokens, terminal.AtLeast(1))
	terminal.Flag(set, "token-margin", "Tokens to keep free below that limit, for the chat template.", "256", &s.tokenMargin, terminal.AtLeast(0))
	set.Flag("clip", "Shorten prompts that are too long instead of refusing them.").BoolVar(&s.clip)
	terminal.Flag(set, "shared-prefix-tokens", "Tokens that all prompts begin with, added to their length.", "0", &s.sharedTokens, terminal.Between(0, traffic.MaxTokens))
	terminal.Flag(set, "template", "For completions: none, llama3, or a file (Go text/template) that joins messages.", traffic.TemplateNone, &s.templateFlag, terminal.Text)
	terminal.Flag(set, "output-tokens", "Most output tokens: N or MIN:MAX; a prompt file or a trace may set its own.", "256", &s.outputTokens, parseCap).IsSetByUser(&s.outputGiven)
	set.Flag("ignore-eos", "Ask for exactly that many tokens, if the engine can.").BoolVar(&s.IgnoreEOS)
	samplingFlags(set, s)
	set.Flag("no-stream", "Ask for whole answers: without TTFT and TPOT.").BoolVar(&s.NoStream)
	timeoutFlags(set, s)
}

func samplingFlags(set terminal.FlagSet, s *Settings) {
	terminal.Flag(set, "temperature", "Sampling temperature.", "0", &s.Temperature, terminal.NumberWithin(0, 2)).IsSetByUser(&s.temperatureGiven)
	terminal.Flag(set, "top-p", "Nucleus sampling, above 0.", "1", &s.TopP, terminal.Share).IsSetByUser(&s.topPGiven)
	terminal.Flags(set, "stop", "Text that ends the output.", &s.Stop, terminal.Text, terminal.AsGiven)
	terminal.Flag(set, "request-seed", "Sampling seed of every request.", "", &s.RequestSeed, terminal.OptionalInt64)
	terminal.Flag(set, "extra-body", "JSON object of further request fields.", "", &s.ExtraBody, parseExtra)
}

func timeoutFlags(set terminal.FlagSet, s *Settings) {
	terminal.Flag(set, "request-timeout", "Longest time of a request.", "600s", &s.RequestTimeout, terminal.PositiveDuration)
	terminal.Flag(set, "first-token-timeout", "Longest time to its first token; default: --request-timeout.", "", &s.FirstTokenTimeout, terminal.PositiveDuration)
	terminal.Flag(set, "chunk-timeout", "Longest time between two chunks.", "120s", &s.ChunkTimeout, terminal.PositiveDuration)
}

func seedFlags(set terminal.FlagSet, s *Settings) {
	terminal.Flag(set, "grace", "How long requests in flight may go on at the end.", "30s", &s.Grace, terminal.Duration)
	terminal.Flag(set, "seed", "Seed of schedule, lengths and prompts; each run's prompts still begin with words of its own.", "1337", &s.Seed, terminal.Unsigned).IsSetByUser(&s.seedGiven)
}

func loadFlags(set terminal.FlagSet, s *Settings) {
	terminal.Flag(set, "arrival", "closed (the next request when one ends), or by the clock: constant, poisson, gamma, trace.", string(traffic.Closed), &s.Arrival, terminal.OneOf(traffic.Arrivals()...))
	terminal.Flag(set, "concurrency", "Requests in flight: of closed exactly that many (default 1), else at most.", "", &s.Concurrency, terminal.AtLeast(1))
	terminal.Flag(set, "rate", "Mean arrivals per second, for constant, poisson and gamma.", "", &s.rate, terminal.Positive)
	terminal.Flag(set, "burstiness", "Shape of gamma: 1 is poisson, less comes in bursts.", "", &s.burstiness, terminal.NumberWithin(traffic.MinBurstiness, traffic.MaxBurstiness))
	terminal.Flag(set, "stages", "Load of parts of the measured phase, such as 30s:10,60s:50: arrivals per second, or concurrency.", "", &s.stages, traffic.ParseStages)
	terminal.Flag(set, "ramp", "Time in which a closed loop starts; 10ms a slot if it has more than 16.", "", &s.rampGiven, givenDuration)
	terminal.Flag(set, "trace", "Trace for --arrival trace: JSONL in mooncake's form, Azure's CSV.", "", &s.TracePath, terminal.Text)
	terminal.Flag(set, "trace-unit", "Unit of a JSONL trace's timestamps: "+strings.Join(traffic.TimeUnits(), ", ")+" (mooncake's own: ms).", "", &s.traceUnits.Time, terminal.OneOf(traffic.TimeUnits()...)).PlaceHolder("UNIT")
	terminal.Flag(set, "trace-block-tokens", "Tokens that each of a trace's hash_ids stands for (mooncake's own: 512).", "", &s.traceUnits.BlockTokens, terminal.AtLeast(1)).PlaceHolder("N")
	terminal.Flags(set, "set", "KEY=VALUE, a size of the scenario, such as a.requests=24.", &s.sizes, parseSize, terminal.AsGiven)
	terminal.Flag(set, "fit-pressure", "Of eviction_replay and rehydrate_replay: fill the KV tiers so many times over, such as 1.5.", "", &s.fitPressure, terminal.NumberWithin(0.1, 100))
	set.Flag("force", "Run a scenario whose sizes cannot show what it is for.").BoolVar(&s.force)
	terminal.Flag(set, "clients", "Of multi_turn: requests in flight, each by a client with conversations of its own.", "", &s.clients, terminal.AtMost(traffic.MaxSlots))
	terminal.Flag(set, "active-conversations", "Of multi_turn: active conversations of all clients; default 8.", "", &s.active, terminal.AtMost(traffic.MaxSlots))
	terminal.Flag(set, "max-turns", "Of multi_turn: most turns of the user; default: the file's, else 4.", "", &s.maxTurns, terminal.AtMost(traffic.MaxTurns))
	terminal.Flag(set, "sampling", "Of multi_turn: which conversation goes on: round_robin or random.", roundRobin, &s.sampling, terminal.OneOf(roundRobin, randomOrder)).IsSetByUser(&s.samplingGiven)
	terminal.Flag(set, "requests", "Requests to measure; default 64 without --duration.", "", &s.requests, terminal.AtLeast(1)).IsSetByUser(&s.requestsGiven)
	terminal.Flag(set, "duration", "How long to measure, or until --requests are sent.", "", &s.duration, terminal.PositiveDuration)
	terminal.Flag(set, "warmup", "Requests, or a time, before the measured ones.", "8", &s.warmup, parseWarmup).IsSetByUser(&s.warmupGiven)
	seedFlags(set, s)
	terminal.Flag(set, "repeat-of", "Send the prompts of an earlier run again, by folder or ID: a prefix cache may have them.", "", &s.repeatOf, terminal.Text).PlaceHolder("RUN")
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

// givenDuration parses a duration whose absence has a meaning of its own.
func givenDuration(text string) (*time.Duration, error) {
	d, err := terminal.Duration(text)
	return &d, err
}
