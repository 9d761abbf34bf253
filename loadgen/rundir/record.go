package rundir

// ScheduleLine is one line of schedule.jsonl: a request before it was sent.
type ScheduleLine struct {
	Phase string `json:"phase" pack:"name"`
	Index int    `json:"index"`
	// PlannedNS is the intended start from the start of the phase; absent in a closed loop.
	PlannedNS *int64 `json:"planned_ns,omitempty"`
	// Client, Conversation and Turn are set for a request that continues a conversation; its prompt is then the user's
	// message of this turn.
	Client            *int   `json:"client,omitempty"`
	Conversation      string `json:"conversation,omitempty" pack:"conversation"`
	Turn              int    `json:"turn,omitempty"`
	PromptSHA256      string `json:"prompt_sha256" pack:"sum"`
	PrefixSHA256      string `json:"prefix_sha256,omitempty" pack:"sum"`
	ParamsSHA256      string `json:"params_sha256" pack:"sum"`
	InputTokensTarget int    `json:"input_tokens_target"`
	// RepeatedTokensTarget is how many of these tokens, at the prompt's beginning, other requests of the schedule share
	// by design: a prefix cache may answer them.
	RepeatedTokensTarget int `json:"repeated_tokens_target,omitempty"`
	MaxTokens            int `json:"max_tokens"`
}

// OutputLine is one line of outputs.jsonl: the model's output, with --save-outputs.
type OutputLine struct {
	Run    string `json:"run"`
	Phase  string `json:"phase"`
	Index  int    `json:"index"`
	Output string `json:"output"`
}

// PromptLine is one line of prompts.jsonl: a request's prompt and answer, with --save-prompts. Secrets of request
// headers are removed from both.
type PromptLine struct {
	Run   string `json:"run"`
	Phase string `json:"phase"`
	Index int    `json:"index"`
	// Messages are set for a chat request, Prompt (the text or the token ids) for a completion, as sent.
	Messages any `json:"messages,omitempty"`
	Prompt   any `json:"prompt,omitempty"`
	// Answer has reasoning, text and tool fragments in order; empty without an answer.
	Answer string `json:"answer"`
}
