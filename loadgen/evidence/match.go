package evidence

// LimitMatch returns the signal of matching outputs, graded no better than the evidence that the answers came from a
// cache: by reuse, or by blocks that came back from the SSD where the reuse is not contradicted. Where it is
// contradicted, equal answers were computed twice, and the signal is not observable. Outputs that differ stay
// contradicted, whatever their source.
func LimitMatch(match, reuse, rehydrate Signal) Signal {
	if match.Grade != Proven && match.Grade != Consistent {
		return match
	}
	switch {
	case reuse.Grade == Contradicted:
		match.Grade, match.Reason = NotObservable, reuse.Reason
	case match.Grade == Proven && reuse.Grade != Proven && rehydrate.Grade != Proven:
		match.Grade, match.Reason = Consistent, ReuseNotProven
	}
	return match
}
