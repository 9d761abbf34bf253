package openai

// Shifted is the record with all of its moments later by some nanoseconds: as it is where another moment
// is the start of the run. Durations stay as they are. The record itself is not changed.
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
