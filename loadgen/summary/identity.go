package summary

// The rules about what served the requests: which model, with which KV tiers, and for how long.

func judgeModelMismatch(e grounds, _ float64) verdict {
	return verdict{e.in.Judging.Model.Checked, e.in.Judging.Model.Mismatch}
}

func judgeModelChanged(e grounds, _ float64) verdict {
	return verdict{e.in.Judging.Model.Compared || e.in.Judging.Model.Changed != "", e.in.Judging.Model.Changed}
}

func judgeModelDropped(e grounds, _ float64) verdict {
	return verdict{e.in.Judging.Model.Guarded || e.in.Judging.Model.Dropped != "", e.in.Judging.Model.Dropped}
}

func judgePromptLimit(e grounds, _ float64) verdict {
	return verdict{e.in.Judging.Model.Guarded || e.in.Judging.Model.PromptLimit != "", e.in.Judging.Model.PromptLimit}
}

func judgeKVModeMismatch(e grounds, _ float64) verdict {
	return verdict{e.in.KVMode.Checked, e.in.KVMode.Mismatch}
}
