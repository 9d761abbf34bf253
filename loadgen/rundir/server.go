package rundir

import "github.com/umascope/umascope/loadgen/openai"

// Server is what answered, as far as it could be found out; nobody's word is taken for it.
type Server struct {
	URL            string `json:"url"`
	Model          string `json:"model"`
	OwnedBy        string `json:"owned_by,omitempty"`
	Simulated      bool   `json:"simulated,omitempty"`
	MaxTokens      int    `json:"max_tokens,omitempty"`
	Engine         string `json:"engine"`
	EngineDetected bool   `json:"engine_detected"`
	Version        string `json:"version,omitempty"`
	// Settings are how the engine says that it is configured, by its own names.
	Settings     map[string]string `json:"settings,omitempty"`
	Answered     []string          `json:"answered_as,omitempty"`
	Fingerprints []string          `json:"system_fingerprints,omitempty"`
	// EngineClues are what the engine was told by, Fields which request fields the server takes.
	EngineClues []Clue     `json:"engine_clues,omitempty"`
	Fields      Acceptance `json:"fields"`
	// FingerprintStart and FingerprintEnd are of the model, before the first request and after the last.
	FingerprintStart *Fingerprint `json:"fingerprint_start,omitempty"`
	FingerprintEnd   *Fingerprint `json:"fingerprint_end,omitempty"`
}

// nameLlamaCPP gives the name and the build of llama.cpp to manifests from before it had a name of its own: it stood as openai, and its
// build among its settings, which no other engine calls build_info.
func (s *Server) nameLlamaCPP() {
	if build := s.Settings["build_info"]; s.Engine == "openai" && s.Version == "" && build != "" {
		s.Engine, s.Version = "llamacpp", build
	}
}

// Refusal is a field that the server does not take, in its own words.
type Refusal struct {
	Field string `json:"field"`
	Says  string `json:"says"`
}

// Acceptance is which fields a server takes. Accepted is not obeyed: many ignore what they do not
// know, so that what a field was asked for must be looked at.
type Acceptance struct {
	Accepted []string  `json:"accepted"`
	Refused  []Refusal `json:"refused,omitempty"`
	// Unknown is why it could not be found out; the vendor's fields are then believed in.
	Unknown string `json:"unknown,omitempty"`
}

// Fingerprint is that by which a model can be known again, whatever it is called.
type Fingerprint struct {
	Endpoint openai.Endpoint `json:"endpoint"`
	// ProbeTokens are the prompt tokens of fixed texts; absent where the server does not count them.
	ProbeTokens []int `json:"probe_tokens,omitempty"`
	// MaxTokens and LoadedFrom are as the server lists them.
	MaxTokens  int    `json:"max_model_len,omitempty"`
	LoadedFrom string `json:"loaded_from,omitempty"`
	// AnswerSHA256 is of a greedy answer. It only supports: engines are not bitwise deterministic, so
	// that another answer is no proof of another model.
	AnswerSHA256 string   `json:"answer_sha256,omitempty"`
	Weights      *Weights `json:"weights,omitempty"`
	// Missing is what could not be had, and why.
	Missing []string `json:"missing,omitempty"`
}

// Weights are of the files that a model was loaded from. Their contents are not read: 100 GiB of them
// would go through the page cache of the machine that is about to be measured.
type Weights struct {
	ConfigSHA256 string `json:"config_sha256"`
	Bytes        int64  `json:"bytes"`
	Files        int    `json:"files"`
}

// Clue is one thing by which an engine can be told.
type Clue struct {
	Engine string `json:"engine"`
	Says   string `json:"says"`
}
