package loadgen

import (
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/schedule"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Words that flags accept.
const (
	scenarioStandard  = "standard"
	scenarioMultiTurn = "multi_turn"

	scenarioEvictionReplay  = "eviction_replay"
	scenarioReuseVerify     = "reuse_verify"
	scenarioRehydrateReplay = "rehydrate_replay"
	scenarioBurst           = "burst"

	promptsShort = "short"
	promptsLong  = "long"
	promptsMixed = "mixed"

	engineAuto = "auto"
)

// engines lists the vendors whose request fields are known; openai stands for any other.
func engines() []string { return []string{"vllm", "trtllm", "sglang", "dynamo", "openai"} }

// targetFlags declares what run and check have in common.
func targetFlags(set flagSet, t *target) {
	flag(set, "url", "Server under test, such as http://127.0.0.1:8000; /v1 may be left out.", "", &t.url, parseURL).Required()
	flag(set, "model", "Model to ask for; the only listed one if not given.", "", &t.model, text)
	flag(set, "endpoint", "API to drive: chat or completions.", string(chat.Chat), &t.endpoint, oneOf(chat.Chat, chat.Completions))
	flag(set, "engine", "Whose request fields to send: auto, "+strings.Join(engines(), ", ")+".", engineAuto, &t.engine, oneOf(append(engines(), engineAuto)...))
	flags(set, "header", "Request header, NAME:VALUE; may be repeated. Values are never recorded.", &t.headers, parseHeader, nameOnly)
	flag(set, "ca-file", "PEM file of the authorities that sign the server's certificate; the system's if not given.", "", &t.caFile, text)
	flag(set, "api-key-file", "File with the API key; the environment's OPENAI_API_KEY if not given.", "", &t.apiKeyFile, text)
}

// runFlags declares the flags of run. The groups are the order of --help.
func runFlags(set flagSet) *settings {
	s := &settings{}
	targetFlags(set, &s.target)
	flag(set, "wait-ready", "How long to wait until the server lists a model.", "0s", &s.target.waitReady, duration)
	flag(set, "ready-consecutive", "How often in a row it must, a second apart.", "2", &s.target.readyConsecutive, atLeast(1))
	requestFlags(set, s)
	loadFlags(set, s)
	recordFlags(set, s)
	return s
}

func requestFlags(set flagSet, s *settings) {
	var kinds []string
	for _, scenario := range scenarios() {
		kinds = append(kinds, scenario.name+": "+scenario.help)
	}
	flag(set, "scenario", "What to measure. "+strings.Join(kinds, "; ")+".", scenarioStandard, &s.scenario, oneScenario)
	flag(set, "prompts", "Prompt set: short (512:2048 tokens), long (8192:32768), mixed (either, half of the requests each), or a file: ShareGPT, conversations or a generator file of vLLM's multi-turn benchmark, JSONL with prompt or messages, or text, a prompt a line.", promptsShort, &s.prompts, text).IsSetByUser(&s.promptsGiven)
	flag(set, "input-tokens", "Prompt length in tokens, without what the chat template adds: N, MEAN,SD or MIN:MAX. Lengths of a prompt set are kept below the limit, lengths given here are refused above it.", "", &s.inputTokens, parseLengths)
	flag(set, "max-input-tokens", "Longest prompt in tokens; what the server's context leaves beside the answer, if not given.", "", &s.maxInputTokens, atLeast(1))
	flag(set, "token-margin", "Tokens to keep free below that limit: the chat template comes on top, and lengths may be estimates.", "256", &s.tokenMargin, atLeast(0))
	set.Flag("clip", "Shorten prompts and conversations that are too long, instead of refusing them.").BoolVar(&s.clip)
	flag(set, "shared-prefix-tokens", "Tokens that all prompts begin with, beside their own length.", "0", &s.sharedTokens, tokens)
	flag(set, "template", "For completions, what makes one text of messages: none, llama3, or a file in the language of Go's text/template with .Messages, each with .Role and .Content.", prompt.TemplateNone, &s.templateFlag, text)
	flag(set, "output-tokens", "Cap of the output in tokens: N or MIN:MAX. What a prompt file or a trace says goes first.", "256", &s.outputTokens, parseCap).IsSetByUser(&s.outputGiven)
	set.Flag("ignore-eos", "Ask for exactly that many tokens, where the engine can.").BoolVar(&s.ignoreEOS)
	flag(set, "temperature", "Sampling temperature. 0 by default: outputs are hashed and compared.", "0", &s.temperature, numberWithin(0, 2))
	flag(set, "top-p", "Nucleus of sampling, above 0.", "1", &s.topP, share)
	flags(set, "stop", "Text that ends the output; may be repeated.", &s.stop, text, asGiven)
	flag(set, "request-seed", "Sampling seed to send with every request.", "", &s.requestSeed, optionalInt64)
	flag(set, "extra-body", "JSON object of further request fields.", "", &s.extraBody, parseExtra)
	set.Flag("no-stream", "Ask for whole answers: first token and end are then the same moment.").BoolVar(&s.noStream)
	flag(set, "request-timeout", "Longest time of a request.", "600s", &s.requestTimeout, positiveDuration)
	flag(set, "first-token-timeout", "Longest time to its first token; that of --request-timeout if not given.", "", &s.firstTokenTimeout, positiveDuration)
	flag(set, "chunk-timeout", "Longest time between two chunks.", "120s", &s.chunkTimeout, positiveDuration)
}

func loadFlags(set flagSet, s *settings) {
	flag(set, "arrival", "closed (the next request when one ends), or by the clock: constant, poisson, gamma or trace.", string(schedule.Closed), &s.arrival, oneOf(schedule.Arrivals()...))
	flag(set, "concurrency", "Requests in flight: exactly that many in a closed loop (default 1), a cap otherwise (default none).", "", &s.concurrency, atLeast(1))
	flag(set, "rate", "Mean arrivals a second, for constant, poisson and gamma; of all clients together in multi_turn.", "", &s.rate, positive)
	flag(set, "burstiness", "Shape of gamma: 1 is poisson, less comes in bursts, more evenly.", "", &s.burstiness, numberWithin(schedule.MinBurstiness, schedule.MaxBurstiness))
	flag(set, "stages", "Stretches of the measured phase with a level each, such as 30s:10,60s:50: arrivals a second, or requests in flight in a closed loop.", "", &s.stages, schedule.ParseStages)
	flag(set, "trace", "Trace to replay, with --arrival trace: mooncake JSONL or Azure's CSV of LLM inference.", "", &s.tracePath, text)
	flags(set, "set", "KEY=VALUE, a size of the scenario, such as a.requests=24; may be repeated. A key that it does not have is answered by those that it has.", &s.sizes, parseSize, asGiven)
	flag(set, "fit-pressure", "Of eviction_replay and rehydrate_replay: send so many times the size of the tiers that must be filled between a set and its replay, such as 1.5.", "", &s.fitPressure, numberWithin(0.1, 100))
	set.Flag("force", "Run a scenario that cannot show what it is for, by the sizes of the tiers.").BoolVar(&s.force)
	flag(set, "clients", "Of multi_turn: how many requests are in flight, each by a client with conversations of its own.", "", &s.clients, atMost(schedule.MaxSlots))
	flag(set, "active-conversations", "Of multi_turn: how many conversations are active, of all clients together; 8 if not given.", "", &s.active, atMost(schedule.MaxSlots))
	flag(set, "max-turns", "Of multi_turn: most turns of the user in a conversation; the file's if not given, 4 without a file.", "", &s.maxTurns, atMost(prompt.MaxTurns))
	flag(set, "sampling", "Of multi_turn: which conversation a client goes on with: round_robin or random.", roundRobin, &s.sampling, oneOf(roundRobin, randomOrder)).IsSetByUser(&s.samplingGiven)
	flag(set, "requests", "Requests to measure; 64 if --duration is not given either.", "", &s.requests, atLeast(1)).IsSetByUser(&s.requestsGiven)
	flag(set, "duration", "How long to measure; whichever of the two is reached first.", "", &s.duration, positiveDuration)
	flag(set, "warmup", "Requests, or a time, before the measured ones; in no figure.", "8", &s.warmup, parseWarmup)
	flag(set, "grace", "How long requests in flight may go on after --duration or an interrupt.", "30s", &s.grace, duration)
	flag(set, "seed", "Seed of schedule, lengths and prompts.", "1337", &s.seed, unsigned)
}

func recordFlags(set flagSet, s *settings) {
	flags(set, "label", "NAME=VALUE kept with the run; may be repeated. arm and host are always there.", &s.labels, parseLabel, asGiven)
	flags(set, "telemetry", "NAME=URL of an exporter on a measured host; may be repeated. The one on this host if it answers, if not given.", &s.telemetry, parseSource, withoutQuery)
	flags(set, "scrape", "NAME=URL of a page of KVBM or of an engine to keep too; may be repeated. One that never answers is a warning.", &s.scrape, parseSource, withoutQuery)
	flag(set, "container", "Container that the engine runs in, by docker or podman on this machine: its image and settings, and its log of the run, are kept.", "", &s.container, containerName)
	flags(set, "capture", "NAME=COMMAND of a shell whose output is kept, before and after the load; may be repeated. Commands are never recorded.", &s.captures, parseCapture, captureName)
	flag(set, "telemetry-interval", "Time between two samples.", "1s", &s.telemetryInterval, durationWithin(telemetry.MinInterval, telemetry.MaxInterval))
	flag(set, "expect", "kv=off, kv=cpu_only or kv=cpu_disk: the run is invalid if telemetry shows other tiers of KVBM.", "", &s.expect, parseExpect)
	flag(set, "slo", "Limits for a good request, such as ttft=500ms,tpot=50ms; from the intended start; exit 4 unless 99 % of the requests keep them.", "", &s.slo, report.ParseSLO)
	flags(set, "validity", "CODE=VALUE or CODE=off: another limit of a validity rule, by its code in the report; may be repeated.", &s.validity, text, asGiven)
	flag(set, "out", "Folder of run folders.", "runs", &s.out, text)
	flag(set, "run-id", "Name of the run and its folder; UTC time, arm and a hash if not given.", "", &s.runID, text)
	set.Flag("save-outputs", "Keep what the model wrote, in outputs.jsonl.").BoolVar(&s.saveOutputs)
	resultFlags(set, &s.results)
	webFlags(set, &s.web)
	flag(set, "web.linger", "How long the live metrics stay after the run.", "0s", &s.web.linger, duration)
	flag(set, "log-level", "Least severe messages to print: debug, info, warn or error.", "info", &s.logLevel, oneOf("debug", "info", "warn", "error"))
}

func webFlags(set flagSet, w *web) {
	flag(set, "web.listen-address", "Address of the live metrics.", DefaultAddress, &w.address, parseListenAddress).IsSetByUser(&w.explicit)
}

// slowestCheck bounds every request of check and healthcheck.
const slowestCheck = 60 * time.Second
