package compare

import "time"

// Comparison is what compare --json prints: every arm against the baseline, in strata of runs that
// agree in everything that is named by --within.
type Comparison struct {
	Schema   string   `json:"schema"`
	By       string   `json:"by"`
	Within   []string `json:"within"`
	Baseline string   `json:"baseline"`
	// Arms are all values of the label, the baseline first.
	Arms   []string  `json:"arms"`
	Strata []Stratum `json:"strata"`
	// KVModel is over all runs, whatever their stratum.
	KVModel  *KVModel  `json:"kv_model,omitempty"`
	Warnings []Warning `json:"warnings"`
	// Simulated says that at least one run was of a simulated engine or machine.
	Simulated bool `json:"simulated,omitempty"`
}

// Stratum is the runs of one cell of --within.
type Stratum struct {
	Within map[string]string `json:"within"`
	// Arms are by name.
	Arms map[string]Arm `json:"arms"`
	// Pairs are the baseline against every other arm.
	Pairs    []Pair    `json:"pairs"`
	Order    Order     `json:"order"`
	KVModel  *KVModel  `json:"kv_model,omitempty"`
	Warnings []Warning `json:"warnings"`
}

// Arm is the runs of one arm in a stratum, in the order of their start; what was left out stands apart.
type Arm struct {
	Runs []RunRef `json:"runs"`
	// Excluded are runs that enter no figure, with why: they are invalid.
	Excluded []RunRef `json:"excluded,omitempty"`
	// NotRepeatable is there if the runs lie too far apart in the metric that decides.
	NotRepeatable *NotRepeatable `json:"not_repeatable,omitempty"`
	Metrics       []Series       `json:"metrics"`
}

// RunRef is a run by its name.
type RunRef struct {
	Run       string    `json:"run"`
	StartedAt time.Time `json:"started_at"`
	Grade     Grade     `json:"grade"`
	Why       []string  `json:"why,omitempty"` // why not a better grade
}

// Grade is how much a run's figures may be used for.
type Grade string

// The grades of a run.
const (
	GradeInvalid  Grade = "invalid"
	GradeValid    Grade = "valid"
	GradeDecision Grade = "decision" // valid, interleaved, evidence proven
)

// Series is a metric over the runs of an arm, in the order of RunRef; nil where a run has none.
type Series struct {
	Name string `json:"name"`
	// EngineReported says that they are an engine's own word.
	EngineReported bool       `json:"engine_reported,omitempty"`
	Values         []*float64 `json:"values"`
	Drift          Drift      `json:"drift"`
}

// Drift is how a metric goes with time inside an arm; null what cannot be said of so few runs.
type Drift struct {
	Spearman   *float64 `json:"spearman"`
	P          *float64 `json:"p"`
	Lag1       *float64 `json:"lag1"`
	EffectiveN *float64 `json:"effective_n"`
	// Significant is of the Spearman correlation with time at 5 %.
	Significant bool `json:"significant"`
	// HighestAt and LowestAt say which are the extreme runs of the arm by their place in time: first is 1.
	HighestAt int `json:"highest_at,omitempty"`
	LowestAt  int `json:"lowest_at,omitempty"`
}

// Pair is an arm (b) against the baseline (a): difference is b - a, ratio b / a of their means.
type Pair struct {
	A                string      `json:"a"`
	B                string      `json:"b"`
	Metrics          []Metrics   `json:"metrics"`
	Order            PairOrder   `json:"order"`
	Fairness         []Fairness  `json:"fairness"`
	LedgerDifference LedgerDelta `json:"ledger_difference"`
	// LedgerDifferenceOn is the same of further machines that both arms measured, by their names.
	LedgerDifferenceOn map[string]LedgerDelta `json:"ledger_difference_on,omitempty"`
	// Ledgers are those of either arm, which LedgerDifference is of: where every line is known, they add up to the pool.
	Ledgers LedgerPair `json:"ledgers,omitzero"`
	// LedgersOn is the same of further machines, by their names.
	LedgersOn map[string]LedgerPair `json:"ledgers_on,omitempty"`
	Warnings  []Warning             `json:"warnings"`
}

// Metrics is one metric of a pair.
type Metrics struct {
	Name      string    `json:"name"`
	Unit      string    `json:"unit"`
	Direction Direction `json:"direction"`
	Primary   bool      `json:"primary"`
	// EngineReported says that an engine's own word is compared.
	EngineReported bool      `json:"engine_reported,omitempty"`
	A              Moments   `json:"a"`
	B              Moments   `json:"b"`
	Difference     *float64  `json:"difference"`
	Ratio          *float64  `json:"ratio"`
	CI95           *Interval `json:"ci95"`
	CI90           *Interval `json:"ci90,omitempty"`
	// RatioCI95 is the same interval as ratios, where the analysis is on the log scale.
	RatioCI95 *Interval `json:"ratio_ci95,omitempty"`
	// GeometricRatio is that of the geometric means, which this interval is of.
	GeometricRatio *float64 `json:"geometric_ratio,omitempty"`
	Scale          string   `json:"scale"` // log or linear
	// Method is balanced_pairs, pairs, welch or welch_of_starts. A and B are of the runs that it tests.
	Method string `json:"method,omitempty"`
	Paired bool   `json:"paired"`
	Pairs  int    `json:"pairs,omitempty"`
	// PairsDropped are pairs without a valid run of both arms, with a reboot between, or with several runs of an arm.
	PairsDropped  int      `json:"pairs_dropped,omitempty"`
	WelchP        *float64 `json:"welch_p"`
	WelchT        *float64 `json:"welch_t,omitempty"`
	PairedP       *float64 `json:"paired_p,omitempty"`
	MannWhitneyP  *float64 `json:"mann_whitney_p"`
	HodgesLehmann *float64 `json:"hodges_lehmann,omitempty"`
	HedgesG       *float64 `json:"hedges_g"`
	TOSTP         *float64 `json:"tost_p"`
	Margin        Margin   `json:"margin"`
	HolmP         *float64 `json:"holm_p"`
	// MDE is the least true difference that a repetition would find with a power of 80 %, as the margin
	// is: relative to the baseline, or in the unit.
	MDE *float64 `json:"mde"`
	// SameAs is the metric that this one is one quantity with: the two count once in the family of tests.
	SameAs string `json:"same_as,omitempty"`
	// NeedN is how many runs each arm would need for the margin, when the verdict is inconclusive: for two equal
	// arms to be shown equivalent, and a difference as large as the margin to be found. NeedForEffect is how many a
	// difference as large as the one that was seen needs to be found.
	NeedN         *int `json:"n_needed,omitempty"`
	NeedForEffect *int `json:"n_needed_for_effect,omitempty"`
	// Constant says that nothing varied: the difference is the same in all runs or pairs, and the verdict goes by it.
	Constant bool    `json:"constant,omitempty"`
	Verdict  Verdict `json:"verdict"`
	// VerdictPlanned is the verdict without the pairs that the campaign added for runs that were off; empty if there are none.
	VerdictPlanned Verdict   `json:"verdict_without_added_pairs,omitempty"`
	Confounded     bool      `json:"confounded_with_time,omitempty"`
	Outliers       []Outlier `json:"outliers"`
	// Optional columns.
	ShapiroA      *float64  `json:"shapiro_wilk_p_a,omitempty"`
	ShapiroB      *float64  `json:"shapiro_wilk_p_b,omitempty"`
	BonferroniP   *float64  `json:"bonferroni_p,omitempty"`
	BHP           *float64  `json:"benjamini_hochberg_p,omitempty"`
	BCa95         *Interval `json:"bca95,omitempty"`
	BootstrapSeed uint64    `json:"bootstrap_seed,omitempty"`
	// Notes are what stands in the way of a figure: too few runs, no spread, a value below zero on the log scale.
	Notes []string `json:"notes,omitempty"`
}

// Interval is from its first to its second number.
type Interval [2]float64

// Moments describe a metric in an arm; SD is the sample one, PopulationSD divides by n.
type Moments struct {
	N            int      `json:"n"`
	Mean         *float64 `json:"mean"`
	SD           *float64 `json:"sd"`
	PopulationSD *float64 `json:"population_sd,omitempty"`
	CV           *float64 `json:"cv"`
	Median       *float64 `json:"median"`
	Min          *float64 `json:"min,omitempty"`
	Max          *float64 `json:"max,omitempty"`
	// MeanCI95 is of the mean, by Student's t.
	MeanCI95 *Interval `json:"mean_ci95,omitempty"`
}

// Direction is which way is better.
type Direction string

// The directions.
const (
	LowerIsBetter  Direction = "lower"
	HigherIsBetter Direction = "higher"
	NeitherBetter  Direction = "neither"
)

// Margin is the largest difference that does not matter: relative to the baseline, or in the unit.
type Margin struct {
	Value    float64 `json:"value"`
	Relative bool    `json:"relative"`
}

// Verdict is what can be said of a metric.
type Verdict string

// The verdicts, of b against a.
const (
	Equivalent   Verdict = "equivalent"
	Irrelevant   Verdict = "irrelevant" // different, but less than matters
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	Different    Verdict = "different" // of a metric of which neither way is better
	Inconclusive Verdict = "inconclusive"
	Undecided    Verdict = "difference_only" // nothing but the difference: n = 1
)

// Outlier is a run that stands out in its arm. It is flagged and never left out.
type Outlier struct {
	Run    string   `json:"run"`
	Arm    string   `json:"arm"`
	Value  float64  `json:"value"`
	By     []string `json:"by"` // grubbs, modified_z
	Causes []string `json:"causes,omitempty"`
}

// Fairness is something that should be the same in both arms.
type Fairness struct {
	Item    string `json:"item"`
	A       string `json:"a"`
	B       string `json:"b"`
	Differs bool   `json:"differs"`
}

// LedgerDelta is b - a by line of the ledger, the mean of the runs, in bytes; nil where it was not observed.
type LedgerDelta struct {
	Start map[string]float64 `json:"start,omitempty"`
	Ready map[string]float64 `json:"ready,omitempty"`
	Peak  map[string]float64 `json:"peak,omitempty"`
}

// LedgerPair has the ledgers of two arms, the means of their runs, in bytes by line. Both have the same lines.
type LedgerPair struct {
	A Ledger `json:"a"`
	B Ledger `json:"b"`
}

// Order is how the runs of a stratum followed each other.
type Order struct {
	Kind     string   `json:"kind"`     // blocked, abba, alternating, random, single, unknown
	Sequence []string `json:"sequence"` // arms in the order of time
	Boots    int      `json:"boots"`    // distinct boot ids
}

// PairOrder is what the order does to a pair, by metric.
type PairOrder struct {
	// Kind is that of the runs of these two arms alone.
	Kind string `json:"kind"`
	// AfterSwitch is the first run after a change of arms against the rest of its arm.
	AfterSwitch []AfterSwitch `json:"after_switch,omitempty"`
	// Halves are the difference in pairs in which a came first, and in those in which b did.
	Halves []Halves `json:"halves,omitempty"`
	// Drift is how the difference of the metric that decides goes with time, where runs are tested by pairs.
	Drift *PairDrift `json:"drift,omitempty"`
}

// PairDrift is how the differences of pairs go with time, beside the means of the two orders.
type PairDrift struct {
	Metric string `json:"metric"`
	Pairs  int    `json:"pairs"`
	// Change is from the first pair to the last, as the margin is: relative to the baseline, or in the unit.
	Change *float64 `json:"change,omitempty"`
	P      *float64 `json:"p"` // null where it is not testable
	// Significant is at 5 %: then findings of the pair are confounded with time.
	Significant bool `json:"significant"`
	// Note is why it is not testable.
	Note string `json:"note,omitempty"`
}

// AfterSwitch is the first runs after a change of arms, against the others of that arm.
type AfterSwitch struct {
	Metric string  `json:"metric"`
	Arm    string  `json:"arm"`
	First  float64 `json:"first"` // mean
	Rest   float64 `json:"rest"`  // mean
	N      int     `json:"n"`     // first runs
	// Extreme says that every first run is the highest (or lowest) of its block.
	Extreme string `json:"extreme,omitempty"`
	// P is how likely the mean of as many runs of the rest would lie as far off; null where the rest has no
	// spread, or is one run.
	P *float64 `json:"p"`
	// Stands says that the first runs lie outside of what the rest would have with a chance of 95 %, given
	// how many figures of the pair are looked at (Holm).
	Stands bool `json:"stands_out"`
}

// Halves compare the two orders of a pair.
type Halves struct {
	Metric string   `json:"metric"`
	AB     *float64 `json:"a_first"`
	BA     *float64 `json:"b_first"`
	P      *float64 `json:"p"`
	// Suspect says that the difference depends on which came first: p is at most 5 %, given how many figures
	// of the pair are looked at (Holm).
	Suspect bool `json:"suspect"`
}

// KVModel says how far the capacity of the KV cache follows from what was free when it was sized.
type KVModel struct {
	N int `json:"n"`
	// Fraction x (Total - x) is the model, of x: free_at_sizing (then Total is 0 and x counts as it is)
	// or occupied_without_kv.
	Of            string  `json:"of"`
	Fraction      float64 `json:"fraction"`
	TotalBytes    float64 `json:"total_bytes"`
	ResidualBytes float64 `json:"largest_residual_bytes"`
	// Share is how much of the variance of the capacities the model explains, from 0 to 1.
	Share float64 `json:"share_explained"`
	// Explained says that it is nearly all: the two figures are one effect. Fails says that it is less than half.
	Explained bool `json:"explained"`
	Fails     bool `json:"fails,omitempty"`
}

// Warning is a finding that stands beside the verdicts, by a name that does not change.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}
