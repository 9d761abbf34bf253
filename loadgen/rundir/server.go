package rundir

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/roofline"
)

// Server is the server that answered, as far as it could be identified from several sources.
type Server struct {
	URL string `json:"url" pack:"url"`
	// FoundBy is the page of the exporter that named the URL; absent if the user did.
	FoundBy        string `json:"found_by,omitempty" pack:"url"`
	Model          string `json:"model" pack:"model"`
	OwnedBy        string `json:"owned_by,omitempty" pack:"word"`
	Simulated      bool   `json:"simulated,omitempty"`
	MaxTokens      int    `json:"max_tokens,omitempty"`
	Engine         string `json:"engine" pack:"word"`
	EngineDetected bool   `json:"engine_detected"`
	Version        string `json:"version,omitempty" pack:"version"`
	// Settings are the engine's settings as it reports them, by its own names.
	Settings map[string]string `json:"settings,omitempty" pack:"word"`
	// LatencyProbeSeconds is the mean time of a few requests without a load, before it: of the list of models whole
	// (api), or of one token to its first event (generation), by LatencyProbeMode. Absent if there was no probe.
	LatencyProbeSeconds *float64 `json:"latency_probe_s,omitempty"`
	LatencyProbeMode    string   `json:"latency_probe_mode,omitempty" pack:"word"`
	Answered            []string `json:"answered_as,omitempty" pack:"word"`
	Fingerprints        []string `json:"system_fingerprints,omitempty" pack:"word"`
	// EngineClues are the clues that identified the engine, Fields the request fields that the server takes.
	EngineClues []Clue     `json:"engine_clues,omitempty"`
	Fields      Acceptance `json:"fields"`
	// PrefixCacheReset is set if the run asked the engine to empty its prefix cache before the load.
	PrefixCacheReset *PrefixCacheReset `json:"prefix_cache_reset,omitempty"`
	// FingerprintStart and FingerprintEnd are the model's, before the first request and after the last.
	FingerprintStart *Fingerprint `json:"fingerprint_start,omitempty"`
	FingerprintEnd   *Fingerprint `json:"fingerprint_end,omitempty"`
}

// PrefixCacheReset is the outcome of the request that empties an engine's prefix cache.
type PrefixCacheReset struct {
	Path string `json:"path" pack:"word"` // POST to it
	Done bool   `json:"done"`
	// Status is the last answer's; absent if there was none. Says is why the engine refused.
	Status int    `json:"status,omitempty"`
	Says   string `json:"says,omitempty"`
}

// Refused describes a refusal; empty if there is none.
func (r *PrefixCacheReset) Refused() string {
	switch {
	case r == nil || r.Done:
		return ""
	case r.Status == 0:
		return fmt.Sprintf("POST %s: %s", r.Path, r.Says)
	}
	return strings.TrimSpace(fmt.Sprintf("POST %s answered %d %s", r.Path, r.Status, r.Says))
}

// Refusal is a field that the server refuses, with the server's error text.
type Refusal struct {
	Field string `json:"field" pack:"word"`
	Says  string `json:"says"`
}

// Acceptance is which fields a server takes. A server may accept a field and ignore it, so check that the field had its
// effect.
type Acceptance struct {
	Accepted []string  `json:"accepted" pack:"word"`
	Refused  []Refusal `json:"refused,omitempty"`
	// Unknown is why the fields could not be probed; the vendor's fields are then assumed.
	Unknown string `json:"unknown,omitempty" pack:"text"`
}

// Fingerprint identifies a model independent of its name.
type Fingerprint struct {
	Endpoint string `json:"endpoint" pack:"word"`
	// ProbeTokens are the prompt tokens of fixed texts; absent if the server does not count them.
	ProbeTokens []int `json:"probe_tokens,omitempty"`
	// MaxTokens and LoadedFrom are as the server lists them.
	MaxTokens  int    `json:"max_model_len,omitempty"`
	LoadedFrom string `json:"loaded_from,omitempty" pack:"word"`
	// AnswerSHA256 is the hash of a greedy answer. It is supporting evidence only: engines are not bitwise
	// deterministic, so a different answer does not prove a different model.
	AnswerSHA256 string   `json:"answer_sha256,omitempty" pack:"sum"`
	Weights      *Weights `json:"weights,omitempty"`
	// Shape is what config.json in the model's folder has of its size; absent if it was not read.
	Shape *roofline.Shape `json:"shape,omitempty"`
	// Missing are the parts that could not be read, and why.
	Missing []string `json:"missing,omitempty" pack:"text"`
}

// Weights are of the files that a model was loaded from. Their contents are not read: 100 GiB of them
// would go through the page cache of the machine that is about to be measured.
type Weights struct {
	ConfigSHA256 string `json:"config_sha256" pack:"sum"`
	Bytes        int64  `json:"bytes"`
	Files        int    `json:"files"`
	// Step is what a decode step reads of them, by config.json; absent if that does not name it.
	Step *roofline.Model `json:"step,omitempty"`
}

// Same reports whether these are the same files, by all that is compared of them.
func (w Weights) Same(other Weights) bool {
	return w.ConfigSHA256 == other.ConfigSHA256 && w.Bytes == other.Bytes && w.Files == other.Files
}

// Clue is one fact that identifies an engine.
type Clue struct {
	Engine string `json:"engine" pack:"word"`
	Says   string `json:"says" pack:"text"`
}
