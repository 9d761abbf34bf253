package rundir

import (
	"time"

	"github.com/umascope/umascope/loadgen/traffic"
)

// Workload is what was sent. Its hash covers the schedule and all rules that are not in the schedule: runs with the
// same hash sent the same requests.
type Workload struct {
	SHA256   string         `json:"sha256" pack:"sum"`
	Sampling Sampling       `json:"sampling"`
	Phases   []PlannedPhase `json:"phases"`
	// Concurrency is the number of slots; 0 is no limit.
	Concurrency int    `json:"concurrency"`
	Script      Script `json:"script"`
	// Pressure is the expected effect on the KV caches, computed from their sizes before the run, in words.
	Pressure     []string        `json:"pressure,omitempty" pack:"word"`
	OutputTokens traffic.Lengths `json:"output_tokens"`
	// InputLengths describes the lengths of prompts: exact or estimated, and from which source.
	InputLengths string             `json:"input_lengths" pack:"word"`
	Scale        traffic.TokenScale `json:"token_scale"`
	// PromptKey, with the seed, determines the first words of prompts: a hash of the name and the start of the run, or
	// of the run that it repeats. Without a key, all words come from the seed alone. The hash of the workload leaves
	// these words out.
	PromptKey string `json:"prompt_key,omitempty" pack:"sum"`
	// RepeatOf is the run whose prompts were sent again.
	RepeatOf string `json:"repeat_of,omitempty" pack:"run"`
}

// PlannedPhase is a phase before it began.
type PlannedPhase struct {
	Name    string                 `json:"name" pack:"word"`
	Process traffic.ArrivalProcess `json:"process"`
	Limit   traffic.Limit          `json:"limit"`
}

// Sampling is what a request asks for apart from its prompt. Model and vendor are left out: two arms that differ in
// them have the same workload.
type Sampling struct {
	Endpoint string `json:"endpoint" pack:"word"`
	// Template makes one text of messages: none, llama3 or the hash of a file.
	Template    string         `json:"template,omitempty" pack:"sum"`
	Stream      bool           `json:"stream"`
	MaxTokens   int            `json:"max_tokens,omitempty"`
	IgnoreEOS   bool           `json:"ignore_eos"`
	Temperature float64        `json:"temperature"`
	TopP        float64        `json:"top_p"`
	Stop        []string       `json:"stop,omitempty" pack:"value"`
	Seed        *int64         `json:"seed,omitempty"`
	Extra       map[string]any `json:"extra,omitempty" pack:"value"`
	// Salt separates the request from what the server cached for others, if the server supports it.
	Salt string `json:"cache_salt,omitempty" pack:"value"`
}

// Script is the scenario's content after its settings are applied; it is part of the workload's hash.
type Script struct {
	Scenario           string              `json:"scenario" pack:"word"`
	InputTokens        []traffic.Lengths   `json:"input_tokens,omitempty"`
	SharedPrefixTokens int                 `json:"shared_prefix_tokens,omitempty"`
	File               *traffic.PromptFile `json:"file,omitempty"`
	Clipped            int                 `json:"clipped,omitempty"`
	Clients            int                 `json:"clients,omitempty"`
	Active             int                 `json:"active_conversations,omitempty"`
	MaxTurns           int                 `json:"max_turns,omitempty"`
	Sampling           string              `json:"conversation_sampling,omitempty" pack:"word"`
	Sets               []PromptSet         `json:"sets,omitempty"`
	Bursts             *Bursts             `json:"bursts,omitempty"`
	Arena              *Arena              `json:"arena,omitempty"`
}

// PromptSet is a numbered set of prompts, and the phases that send it.
type PromptSet struct {
	Phases      []string `json:"phases" pack:"word"`
	Prompts     string   `json:"prompts" pack:"word"`
	Requests    int      `json:"requests"`
	Concurrency int      `json:"concurrency"`
	// ReplayConcurrency is that of the phases after the first, if it differs.
	ReplayConcurrency int               `json:"replay_concurrency,omitempty"`
	InputTokens       []traffic.Lengths `json:"input_tokens"`
}

// Bursts are repeated groups of requests that are due at the same moment.
type Bursts struct {
	Bursts   int           `json:"bursts"`
	Requests int           `json:"requests"`
	Every    time.Duration `json:"every_ns"`
}

// Arena is one cell of an arena: batches of requests that are sent at one moment, the next when all have ended.
type Arena struct {
	DepthTokens  int `json:"depth_tokens"` // of the context before the prompt
	PromptTokens int `json:"pp_tokens"`
	OutputTokens int `json:"tg_tokens"`
	Concurrency  int `json:"concurrency"` // requests of a batch
	Batches      int `json:"batches"`
	// PrefixCaching is true if each batch follows one that leaves its contexts in the prefix cache.
	PrefixCaching bool `json:"prefix_caching"`
	// CorpusSHA256 is the hash of the text that the prompts are slices of.
	CorpusSHA256 string `json:"corpus_sha256" pack:"sum"`
	// Estimated is true if the lengths of prompts are estimates: the server's tokenizer was not used.
	Estimated bool `json:"estimated,omitempty"`
}
