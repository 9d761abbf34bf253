package openai

// Shifted returns a copy of the record with all of its moments later by ns nanoseconds, for a run with another start.
// Durations do not change.
func (r Record) Shifted(ns int64) Record {
	r.IntendedNS += ns
	for _, moment := range []**int64{
		&r.EligibleNS, &r.DispatchNS, &r.WrittenNS, &r.HeadersNS, &r.FirstEventNS, &r.FirstTokenNS, &r.FirstVisibleNS, &r.EndNS, &r.BrokenOffNS,
	} {
		if *moment != nil {
			*moment = new(**moment + ns)
		}
	}
	if len(r.ArrivalsNS) > 0 {
		// The first is a moment, the others are distances.
		r.ArrivalsNS = append([]int64{r.ArrivalsNS[0] + ns}, r.ArrivalsNS[1:]...)
	}
	return r
}
