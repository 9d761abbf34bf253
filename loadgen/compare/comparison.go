package compare

import (
	"iter"
	"time"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

// Comparison is the output of compare --json: every arm against the baseline, in strata of runs with the same values of
// all --within labels.
type Comparison struct {
	Schema   string   `json:"schema"`
	By       string   `json:"by"`
	Within   []string `json:"within"`
	Baseline string   `json:"baseline"`
	// Arms are all values of the label, the baseline first.
	Arms   []string  `json:"arms"`
	Strata []Stratum `json:"strata"`
	// KVModel is fitted over all runs of all strata.
	KVModel  *KVModel  `json:"kv_model,omitempty"`
	Warnings []Warning `json:"warnings"`
	// Simulated is true if at least one run had a simulated engine or machine.
	Simulated bool `json:"simulated,omitempty"`
}

// pairs visits the pairs of all strata.
func (c Comparison) pairs() iter.Seq2[Stratum, Pair] {
	return func(yield func(Stratum, Pair) bool) {
		for _, s := range c.Strata {
			for _, p := range s.Pairs {
				if !yield(s, p) {
					return
				}
			}
		}
	}
}

// Stratum holds the runs of one cell of --within.
type Stratum struct {
	Within map[string]string `json:"within"`
	// Arms are keyed by name.
	Arms map[string]Arm `json:"arms"`
	// Pairs compare the baseline with every other arm.
	Pairs    []Pair    `json:"pairs"`
	Order    Order     `json:"order"`
	KVModel  *KVModel  `json:"kv_model,omitempty"`
	Warnings []Warning `json:"warnings"`
}

// Arm holds the runs of one arm in a stratum, in the order of their start; excluded runs are in a list of their own.
type Arm struct {
	Runs []RunRef `json:"runs"`
	// Excluded are the invalid runs, which enter no figure, with the reasons.
	Excluded []RunRef `json:"excluded,omitempty"`
	// NotRepeatable is set if the runs lie too far apart in the metric that decides.
	NotRepeatable *NotRepeatable `json:"not_repeatable,omitempty"`
	Metrics       []Series       `json:"metrics"`
}

// RunRef refers to a run by its name.
type RunRef struct {
	Run       string    `json:"run"`
	StartedAt time.Time `json:"started_at"`
	Grade     Grade     `json:"grade"`
	Why       []string  `json:"why,omitempty"` // why not a better grade
}

// Grade is the run quality: what the figures of a run may be used for.
type Grade string

// The grades of a run.
const (
	GradeInvalid  Grade = "invalid"
	GradeValid    Grade = "valid"
	GradeDecision Grade = "decision" // valid, interleaved, evidence proven
)

// Series holds a metric over the runs of an arm, in the order of RunRef; nil where a run has no value.
type Series struct {
	Name string `json:"name"`
	// EngineReported is true if the engine reported the values.
	EngineReported bool       `json:"engine_reported,omitempty"`
	Values         []*float64 `json:"values"`
	Drift          Drift      `json:"drift"`
}

// Drift is the drift of a metric over time inside an arm; a figure that so few runs do not give is null.
type Drift struct {
	Spearman   *float64 `json:"spearman"`
	P          *float64 `json:"p"`
	Lag1       *float64 `json:"lag1"`
	EffectiveN *float64 `json:"effective_n"`
	// Significant is that of the Spearman correlation with time at 5 %.
	Significant bool `json:"significant"`
	// HighestAt and LowestAt are the positions in time of the extreme runs of the arm: the first run is 1.
	HighestAt int `json:"highest_at,omitempty"`
	LowestAt  int `json:"lowest_at,omitempty"`
}

// Pair is an arm (b) against the baseline (a): difference is b - a, ratio b / a of their means.
type Pair struct {
	A        string     `json:"a"`
	B        string     `json:"b"`
	Metrics  []Metrics  `json:"metrics"`
	Order    PairOrder  `json:"order"`
	Fairness []Fairness `json:"fairness"`
	// LedgerDifference is b - a by line, of the means of the runs.
	LedgerDifference summary.Ledgers `json:"ledger_difference"`
	// LedgerDifferenceOn is LedgerDifference for further machines that both arms measured, by machine name.
	LedgerDifferenceOn map[string]summary.Ledgers `json:"ledger_difference_on,omitempty"`
	// Ledgers are the ledgers of the two arms that LedgerDifference is computed from: where every line is known, they add
	// up to the pool.
	Ledgers LedgerPair `json:"ledgers,omitzero"`
	// LedgersOn is Ledgers for further machines, by machine name.
	LedgersOn map[string]LedgerPair `json:"ledgers_on,omitempty"`
	Warnings  []Warning             `json:"warnings"`
}

// Metrics compares one metric of a pair.
type Metrics struct {
	Name      string           `json:"name"`
	Unit      string           `json:"unit"`
	Direction figure.Direction `json:"direction"`
	Primary   bool             `json:"primary"`
	// EngineReported is true if the compared values were reported by the engine.
	EngineReported bool      `json:"engine_reported,omitempty"`
	A              Moments   `json:"a"`
	B              Moments   `json:"b"`
	Difference     *float64  `json:"difference"`
	Ratio          *float64  `json:"ratio"`
	CI95           *Interval `json:"ci95"`
	CI90           *Interval `json:"ci90,omitempty"`
	// RatioCI95 is the interval as ratios, where the analysis is on the log scale.
	RatioCI95 *Interval `json:"ratio_ci95,omitempty"`
	// GeometricRatio is the ratio of the geometric means, which RatioCI95 belongs to.
	GeometricRatio *float64 `json:"geometric_ratio,omitempty"`
	Scale          string   `json:"scale"` // log or linear
	// Method is balanced_pairs, pairs, welch or welch_of_starts. A and B describe the runs that it tests.
	Method string `json:"method,omitempty"`
	Paired bool   `json:"paired"`
	Pairs  int    `json:"pairs,omitempty"`
	// PairsDropped counts pairs without a valid run of both arms, with a reboot between their runs, or with several runs
	// of an arm.
	PairsDropped  int           `json:"pairs_dropped,omitempty"`
	WelchP        *float64      `json:"welch_p"`
	WelchT        *float64      `json:"welch_t,omitempty"`
	PairedP       *float64      `json:"paired_p,omitempty"`
	MannWhitneyP  *float64      `json:"mann_whitney_p"`
	HodgesLehmann *float64      `json:"hodges_lehmann,omitempty"`
	HedgesG       *float64      `json:"hedges_g"`
	TOSTP         *float64      `json:"tost_p"`
	Margin        figure.Margin `json:"margin"`
	// ClientDoubt is how far the load generator's own delays may have moved the metric, in its unit, as a mean over the
	// runs of the arm where it is larger; absent if they move it by nothing, or that is not known.
	ClientDoubt *float64 `json:"client_doubt,omitempty"`
	HolmP       *float64 `json:"holm_p"`
	// MDE is the minimum detectable effect: the smallest true difference that a repetition would find with a power of 80
	// %. Its unit is that of the margin: relative to the baseline, or in the unit of the metric.
	MDE *float64 `json:"mde"`
	// SameAs is the metric that measures the same quantity as this one: the two count once in the family of tests.
	SameAs string `json:"same_as,omitempty"`
	// NeedN is the number of runs of each arm that the margin needs. When the verdict is inconclusive, it is enough to show
	// two equal arms equivalent and to find a difference as large as the margin. When the extent is not decided, it is
	// enough to tell the observed difference from the margin. NeedForEffect is the number that finds a difference as large
	// as the observed one.
	NeedN         *int `json:"n_needed,omitempty"`
	NeedForEffect *int `json:"n_needed_for_effect,omitempty"`
	// Constant is true if the difference is the same in all runs or pairs; the verdict then follows from the difference
	// without a test.
	Constant bool    `json:"constant,omitempty"`
	Verdict  Verdict `json:"verdict"`
	// VerdictIgnoringOrder is the verdict that the figures alone would have, where Verdict is confounded.
	VerdictIgnoringOrder Verdict `json:"verdict_ignoring_order,omitempty"`
	// VerdictPlanned is the verdict without the pairs that the campaign added for runs that were off; empty if there are
	// none.
	VerdictPlanned Verdict `json:"verdict_without_added_pairs,omitempty"`
	// Confounded is true if Verdict is confounded.
	Confounded bool `json:"confounded_with_time,omitempty"`
	// Drift is the drift over time that confounds this metric; nil if none was found.
	Drift    *PairDrift `json:"drift,omitempty"`
	Outliers []Outlier  `json:"outliers"`
	// Optional columns.
	ShapiroA      *float64  `json:"shapiro_wilk_p_a,omitempty"`
	ShapiroB      *float64  `json:"shapiro_wilk_p_b,omitempty"`
	BonferroniP   *float64  `json:"bonferroni_p,omitempty"`
	BHP           *float64  `json:"benjamini_hochberg_p,omitempty"`
	BCa95         *Interval `json:"bca95,omitempty"`
	BootstrapSeed uint64    `json:"bootstrap_seed,omitempty"`
	// Notes explain a missing figure: too few runs, no spread, a value below zero on the log scale.
	Notes []string `json:"notes,omitempty"`
}

// Interval holds the lower and the upper bound.
type Interval [2]float64

// Moments describe a metric in an arm; SD is the sample standard deviation, PopulationSD divides by n.
type Moments struct {
	N            int      `json:"n"`
	Mean         *float64 `json:"mean"`
	SD           *float64 `json:"sd"`
	PopulationSD *float64 `json:"population_sd,omitempty"`
	CV           *float64 `json:"cv"`
	Median       *float64 `json:"median"`
	Min          *float64 `json:"min,omitempty"`
	Max          *float64 `json:"max,omitempty"`
	// MeanCI95 is the 95 % confidence interval of the mean, by Student's t.
	MeanCI95 *Interval `json:"mean_ci95,omitempty"`
}

// Outlier is a run that lies apart in its arm. It is flagged and never excluded.
type Outlier struct {
	Run    string   `json:"run"`
	Arm    string   `json:"arm"`
	Value  float64  `json:"value"`
	By     []string `json:"by"` // grubbs, modified_z
	Causes []string `json:"causes,omitempty"`
}

// Fairness is a condition that should be the same in both arms.
type Fairness struct {
	Item    string `json:"item"`
	A       string `json:"a"`
	B       string `json:"b"`
	Differs bool   `json:"differs"`
}

// LedgerPair has the ledgers of two arms, the means of their runs, in bytes by line. Both have the same lines.
type LedgerPair struct {
	A summary.Ledgers `json:"a"`
	B summary.Ledgers `json:"b"`
}

// Order describes the order of the runs of a stratum.
type Order struct {
	Kind     string   `json:"kind"`     // blocked, abba, alternating, random, single, unknown
	Sequence []string `json:"sequence"` // arms in the order of time
	Boots    int      `json:"boots"`    // distinct boot ids
}

// PairOrder reports the effect of the order on a pair, by metric.
type PairOrder struct {
	// Kind is the order of the runs of these two arms alone.
	Kind string `json:"kind"`
	// AfterSwitch compares the first run after a change of arms with the rest of its arm.
	AfterSwitch []AfterSwitch `json:"after_switch,omitempty"`
	// Halves compares the difference in pairs in which a came first with that in pairs in which b did.
	Halves []Halves `json:"halves,omitempty"`
	// Drift is the drift over time of the difference in the metric that decides, where arms are interleaved.
	Drift *PairDrift `json:"drift,omitempty"`
	// CommonDrift is the drift that both arms have in the metric that decides, where they alternate strictly: one arm is
	// always later, so that it is in the difference.
	CommonDrift *PairDrift `json:"common_drift,omitempty"`
}

// PairDrift is a linear drift over time: of the difference between two arms, or of both arms alike. In pairs it is that
// of their differences, after the means of the two orders are removed; in runs that are tested apart, the difference of
// the slopes of the arms.
type PairDrift struct {
	Metric string `json:"metric"`
	Pairs  int    `json:"pairs,omitempty"` // 0 for runs that are tested apart
	Common bool   `json:"common,omitempty"`
	// Change is from the first run of the two arms to the last. Its unit is that of the margin: relative to the baseline,
	// or in the unit of the metric.
	Change *float64 `json:"change,omitempty"`
	P      *float64 `json:"p"` // null where it cannot be tested
	// Level is the largest P that counts: all tests of a comparison together find a drift by chance in 0.5 % of clean
	// campaigns at most.
	Level float64 `json:"level,omitempty"`
	// Detectable is the change that would have been found with a power of 90 %, at the spread of these runs; null if none.
	Detectable *float64 `json:"detectable_change,omitempty"`
	// Significant is true if P is at most Level and Change is at least the margin: verdicts are then confounded.
	Significant bool `json:"significant"`
	// Note is the reason why the drift cannot be tested.
	Note string `json:"note,omitempty"`
}

// AfterSwitch compares the first runs after a change of arms with the other runs of that arm.
type AfterSwitch struct {
	Metric string  `json:"metric"`
	Arm    string  `json:"arm"`
	First  float64 `json:"first"` // mean
	Rest   float64 `json:"rest"`  // mean
	N      int     `json:"n"`     // first runs
	// Extreme is set if every first run is the highest (or lowest) of its block, unless that is one block of two runs.
	Extreme string `json:"extreme,omitempty"`
	// P is the probability that the mean of as many runs of the rest lies as far off; null where the rest has no spread,
	// or is one run.
	P *float64 `json:"p"`
	// Stands is true if the first runs lie outside the range that the rest would reach with a probability of 95 %,
	// adjusted for the number of figures of the pair that are tested (Holm).
	StandsOut bool `json:"stands_out"`
}

// Halves compares the two orders of a pair.
type Halves struct {
	Metric string   `json:"metric"`
	AB     *float64 `json:"a_first"`
	BA     *float64 `json:"b_first"`
	P      *float64 `json:"p"`
	// Suspect is true if the difference depends on which arm came first: p is at most 5 %, adjusted for the number of
	// figures of the pair that are tested (Holm).
	Suspect bool `json:"suspect"`
}

// KVModel reports how far the capacity of the KV cache follows from the memory that was free when it was sized.
type KVModel struct {
	N int `json:"n"`
	// Fraction x (Total - x) is the model. Of names x: free_at_sizing (Total is then 0 and x counts as it is) or
	// occupied_without_kv.
	Of            string  `json:"of"`
	Fraction      float64 `json:"fraction"`
	TotalBytes    float64 `json:"total_bytes"`
	ResidualBytes float64 `json:"largest_residual_bytes"`
	// Share is the share of the variance of the capacities that the model explains, from 0 to 1.
	Share float64 `json:"share_explained"`
	// Explained is true if Share is nearly 1: the two figures are one effect. Fails is true if it is less than half.
	Explained bool `json:"explained"`
	Fails     bool `json:"fails,omitempty"`
}

// Warning is one of the caveats of a comparison, by a name that does not change.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}
