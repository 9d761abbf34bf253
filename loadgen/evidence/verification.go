package evidence

// Verification is what is compared when a run is over: a phase, and those that send the same again.
type Verification struct {
	First string
	Again []string
	All   []string // the phases whose traffic belongs to the scenario
	// Baseline are the two passes that show the engine's own drift.
	Baseline [2]string
	// Turns: the prompts sent again are the histories of conversations, within the phase First, which Again repeats.
	Turns   bool
	Alone   bool // First and Again had one request in flight
	Pressed bool // enough came between them to push the first out of the upper tiers
	// Told is what the user says of tiers. BlockBytes and TokenBytes are the sizes of a block and of a
	// token in the KV cache; 0 is to be found out.
	Told                   Tiers
	BlockBytes, TokenBytes float64
}
