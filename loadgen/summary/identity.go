package summary

// The rules that ask what answered: which model, with which KV tiers, and for how long.

func judgeModelMismatch(e grounds, _ float64) verdict {
	return verdict{e.in.Model.Checked, e.in.Model.Mismatch}
}

func judgeModelChanged(e grounds, _ float64) verdict {
	return verdict{e.in.Model.Compared || e.in.Model.Changed != "", e.in.Model.Changed}
}

func judgeModelDropped(e grounds, _ float64) verdict {
	return verdict{e.in.Model.Guarded || e.in.Model.Dropped != "", e.in.Model.Dropped}
}

func judgePromptLimit(e grounds, _ float64) verdict {
	return verdict{e.in.Model.Guarded || e.in.Model.PromptLimit != "", e.in.Model.PromptLimit}
}

func judgeKVModeMismatch(e grounds, _ float64) verdict {
	return verdict{e.in.KVMode.Checked, e.in.KVMode.Mismatch}
}

// KVMode is which tiers of the KV cache were expected to be on, against those that were seen.
type KVMode struct {
	// Checked says whether the tiers could be seen; Mismatch is what was seen instead. Empty is
	// nothing, or that nothing was expected.
	Checked  bool
	Mismatch string
}
