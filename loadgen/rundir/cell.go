package rundir

// A cell is a run of batches at a depth, as llama-benchy measures them. These labels say which, in tokens and in requests
// at once. Runs of uma-load arena have them, and imported ones, which are one phase of a cell each.
const (
	LabelDepth       = "depth"
	LabelConcurrency = "concurrency"
	LabelPrompt      = "pp"
	LabelResponse    = "tg"
	LabelCellPhase   = "phase"
)

// Values of LabelCellPhase.
const (
	CellContext   = "context"
	CellInference = "inference"
)

// Beginnings of the names of a cell's phases: context_1, batch_1, context_2 and so on.
const (
	ContextPhase = "context_"
	BatchPhase   = "batch_"
)
