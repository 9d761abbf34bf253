package evidence

// Verification selects the phases that are compared after a run: First, and the phases that repeat it.
type Verification struct {
	First string
	Again []string
	All   []string // the phases whose traffic belongs to the scenario
	// Baseline are the two passes that show the engine's own drift.
	Baseline [2]string
	// Turns is true if the repeated prompts are the histories of conversations, within the phase First, which Again
	// repeats.
	Turns   bool
	Alone   bool // First and Again had one request in flight
	Pressed bool // enough traffic came between them to push the first out of the upper tiers
	// Given has the user's statements about tiers. BlockBytes and TokenBytes are the sizes of a block and of a token in the
	// KV cache; 0 is to be determined.
	Given                  Tiers
	BlockBytes, TokenBytes float64
	// EnduranceBytes are the bytes that may be written to the drive by its data sheet; 0 if the user does not state them: no
	// drive reports them.
	EnduranceBytes float64
}
