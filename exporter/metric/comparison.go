package metric

import "slices"

const comparisonSource = "a saved comparison"

// ofPair are the labels of the series of a pair of arms, ofComparison those of one metric of the pair.
func ofPair(more ...Label) []Label {
	return slices.Concat([]Label{LabelComparison, LabelBaseline, LabelCandidate, LabelScenario, LabelModel}, more)
}

var ofComparison = []Label{LabelComparison, LabelMetric, LabelBaseline, LabelCandidate, LabelScenario, LabelModel}

// Saved comparisons, as uma-load serve shows them. A comparison of several strata has one name for each stratum.
var (
	ComparisonRatio = gauge(Def{Name: "uma_comparison_ratio", Unit: Quotient, Sum: SumNever(), Labels: ofComparison,
		Help: "A metric of the candidate over that of the baseline, means over the runs that are compared.", Source: comparisonSource})
	ComparisonRatioLower = gauge(Def{Name: "uma_comparison_ratio_lower", Unit: Quotient, Sum: SumNever(), Labels: ofComparison,
		Help: "Lower end of the 95 % confidence interval of the ratio of geometric means; absent where the analysis is not of ratios.", Source: comparisonSource})
	ComparisonRatioUpper = gauge(Def{Name: "uma_comparison_ratio_upper", Unit: Quotient, Sum: SumNever(), Labels: ofComparison,
		Help: "Upper end of the 95 % confidence interval of the ratio of geometric means; absent where the analysis is not of ratios.", Source: comparisonSource})
	ComparisonDifference = gauge(Def{Name: "uma_comparison_difference", Unit: OfMetric, Sum: SumNever(), Labels: ofComparison,
		Help: "A metric of the candidate less that of the baseline, means over their runs, in the unit that the name of the metric ends with.", Source: comparisonSource})
	ComparisonDifferenceLower = gauge(Def{Name: "uma_comparison_difference_lower", Unit: OfMetric, Sum: SumNever(), Labels: ofComparison,
		Help: "Lower end of the 95 % confidence interval of the difference; where the analysis is of ratios, that of the change times the mean of the baseline. Absent where there was nothing to test by.", Source: comparisonSource})
	ComparisonDifferenceUpper = gauge(Def{Name: "uma_comparison_difference_upper", Unit: OfMetric, Sum: SumNever(), Labels: ofComparison,
		Help: "Upper end of the 95 % confidence interval of the difference; where the analysis is of ratios, that of the change times the mean of the baseline. Absent where there was nothing to test by.", Source: comparisonSource})
	ComparisonVerdict = gauge(Def{Name: "uma_comparison_verdict", Unit: State, Sum: SumNever(), Labels: append(ofComparison[:len(ofComparison):len(ofComparison)], LabelVerdict),
		Help: "1 for what can be said of the metric: equivalent, irrelevant, better, worse or different (by more than the margin), the same three with _extent_not_decided, confounded (with time), inconclusive or difference_only.", Source: comparisonSource})
	ComparisonConfounded = gauge(Def{Name: "uma_comparison_confounded", Unit: State, Sum: SumNever(), Labels: ofComparison,
		Help: "Whether the verdict is confounded: the runs followed each other, or their difference drifts, so that time explains it as well as the arms do.", Source: comparisonSource})
	ComparisonPrimary = gauge(Def{Name: "uma_comparison_primary", Unit: State, Sum: SumNever(), Labels: ofComparison,
		Help: "Whether the metric is the one that decides: it was chosen before any figure was seen, and the verdicts of all others are held to what chance gives among many.", Source: comparisonSource})
	ComparisonNeededRuns = gauge(Def{Name: "uma_comparison_needed_runs", Unit: Count, Sum: SumNever(), Labels: ofComparison,
		Help: "About how many runs of each arm the margin would need, with the spread that there is: to show two equal arms equivalent, and to find a difference as large as it; where the extent is not decided, to tell the difference from the margin; absent for other verdicts, and where it is beyond 100,000.", Source: comparisonSource})
	ComparisonSimulated = gauge(Def{Name: "uma_comparison_simulated", Unit: State, Sum: SumNever(), Labels: []Label{LabelComparison},
		Help: "Whether a run of the comparison was of a simulated engine or machine; its figures are then not those of hardware.", Source: comparisonSource})
	ComparisonInfo = gauge(Def{Name: "uma_comparison_info", Unit: Info, Sum: SumNever(), Labels: []Label{LabelComparison, LabelComparedBy},
		Help: "A saved comparison, and the label of runs whose values are its arms: arm, or another that was named by --by.", Source: comparisonSource})
	ComparisonSavedTimestampSeconds = gauge(Def{Name: "uma_comparison_saved_timestamp_seconds", Unit: Timestamp, Sum: SumNever(), Labels: []Label{LabelComparison},
		Help: "When the comparison was saved.", Source: "time of the file of the comparison: a copy may have that of copying"})
	ComparisonRunInfo = gauge(Def{Name: "uma_comparison_run_info", Unit: Info, Sum: SumNever(), Labels: []Label{LabelComparison, LabelScenario, LabelModel, LabelArm, LabelRun, LabelGrade, LabelDetail},
		Help: "A run of the comparison, by its arm and what its figures may be used for: decision, valid, or invalid, which enters no figure; the detail is why it is no more than that. At most 1,000 of a comparison.", Source: comparisonSource})
	ComparisonMean = gauge(Def{Name: "uma_comparison_mean", Unit: OfMetric, Sum: SumNever(), Labels: append(ofComparison[:len(ofComparison):len(ofComparison)], LabelArm),
		Help: "Mean of a metric over the runs of an arm, in the unit that the name of the metric ends with.", Source: comparisonSource})
	ComparisonRuns = gauge(Def{Name: "uma_comparison_runs", Unit: Count, Sum: SumKeeping(LabelComparison, LabelBaseline, LabelCandidate), Labels: ofPair(LabelArm),
		Help: "Valid runs of an arm, which are those that enter the comparison.", Source: comparisonSource})
	ComparisonOrderInfo = gauge(Def{Name: "uma_comparison_order_info", Unit: Info, Sum: SumNever(), Labels: ofPair(LabelOrder),
		Help: "How the runs of the two arms followed each other: blocked, abba, alternating, random, single or unknown. Blocked order cannot tell an arm from the time at which it ran.", Source: comparisonSource})
	ComparisonDriftCorrelation = gauge(Def{Name: "uma_comparison_drift_correlation", Unit: Correlation, Sum: SumNever(), Labels: append(ofComparison[:len(ofComparison):len(ofComparison)], LabelArm),
		Help: "Spearman correlation of a metric with the start of its runs among those of an arm; absent of so few that nothing can be said.", Source: comparisonSource})
	ComparisonDriftSignificant = gauge(Def{Name: "uma_comparison_drift_significant", Unit: State, Sum: SumNever(), Labels: append(ofComparison[:len(ofComparison):len(ofComparison)], LabelArm),
		Help: "Whether that correlation, or a stronger one, is what chance would give in 5 % of experiments at most. Of many metrics some are.", Source: comparisonSource})
	ComparisonAfterSwitchStandsOut = gauge(Def{Name: "uma_comparison_after_switch_stands_out", Unit: State, Sum: SumNever(), Labels: append(ofComparison[:len(ofComparison):len(ofComparison)], LabelArm),
		Help: "Whether the first runs after a change of arms stand out from the others of their arm, as they do when the arm before leaves something behind; absent where that could not be tested.", Source: comparisonSource})
	ComparisonFairnessDiffers = gauge(Def{Name: "uma_comparison_fairness_differs", Unit: State, Sum: SumNever(), Labels: ofPair(LabelItem, LabelBaselineValue, LabelCandidateValue),
		Help: "Whether the arms differ in something that should be the same, with what each has. At most 100 items of a pair, those that differ first.", Source: comparisonSource})
	ComparisonLedgerDifferenceBytes = gauge(Def{Name: "uma_comparison_ledger_difference_bytes", Unit: Bytes, Sum: SumKeeping(LabelComparison, LabelBaseline, LabelCandidate, LabelScenario, LabelModel, LabelMoment), Labels: ofPair(LabelMoment, LabelLine),
		Help: "Candidate less baseline by line of the ledger, means of the runs, at start, ready and peak.", Source: comparisonSource})
	ComparisonWarning = gauge(Def{Name: "uma_comparison_warning", Unit: State, Sum: SumNever(), Labels: []Label{LabelComparison, LabelCode, LabelDetail},
		Help: "1 for each warning of a comparison, its strata and its pairs; at most 100 of a name.", Source: comparisonSource})
)

func comparisonDefs() []Definer {
	return []Definer{
		ComparisonRatio, ComparisonRatioLower, ComparisonRatioUpper, ComparisonDifference, ComparisonDifferenceLower, ComparisonDifferenceUpper,
		ComparisonVerdict, ComparisonConfounded, ComparisonPrimary, ComparisonNeededRuns,
		ComparisonSimulated, ComparisonInfo, ComparisonSavedTimestampSeconds, ComparisonRunInfo,
		ComparisonMean, ComparisonRuns, ComparisonOrderInfo, ComparisonDriftCorrelation, ComparisonDriftSignificant,
		ComparisonAfterSwitchStandsOut, ComparisonFairnessDiffers, ComparisonLedgerDifferenceBytes, ComparisonWarning,
	}
}
