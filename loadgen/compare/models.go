package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/stats"
)

// modelsEquivalent warns of an arm in which models of different names have the same throughput, within the margin.
// Models of different size do not: probably one model answered for both. The warning stays when a test finds some of
// them different, since runs of one model at other times differ too.
func (c *comparing) modelsEquivalent() []Warning {
	var all []Warning
	for _, k := range []key{{name: figure.OutputTokensPerSecond}, {name: figure.ToolOutputTokensPerSecond}} {
		m, _ := figure.FindCompared(k.name)
		var texts []string
		models := 0
		for _, name := range c.arms {
			likeness, ok := c.likeModels(k, m, name)
			if ok {
				texts = append(texts, fmt.Sprintf("%s (largest |t| %.1f)", name, likeness.largestT))
				models = max(models, likeness.models)
			}
		}
		if len(texts) > 0 {
			all = append(all, warn(CodeModelsEquivalent, "%s of %d models of different names is equivalent within %s in %s: the identity of the models is in doubt",
				m.Title, models, c.options.margin(m).Text(m.Unit), strings.Join(texts, " and ")))
		}
	}
	return all
}

type likeness struct {
	models   int
	largestT float64 // largest absolute t of any two models
}

// likeModels compares every two models of an arm that had the same requests. It skips models that are known to answer
// differently.
func (c *comparing) likeModels(k key, m figure.Figure, name string) (likeness, bool) {
	if c.options.By == labelModel {
		return likeness{}, false
	}
	like := likeness{}
	for _, by := range c.modelsAskedAlike(k, name) {
		models := sortedKeys(by)
		like.models = max(like.models, len(models))
		for i, a := range models {
			for _, b := range models[i+1:] {
				t, equivalent := equal(k, m, c.options.margin(m), by[a], by[b])
				if !equivalent || proveApart(by[a], by[b]) {
					return likeness{}, false
				}
				like.largestT = max(like.largestT, math.Abs(t))
			}
		}
	}
	return like, like.models > 1
}

// modelsAskedAlike returns the runs of an arm by model, for each scenario and each combination of the other --within
// labels.
func (c *comparing) modelsAskedAlike(k key, name string) map[string]map[string][]*Run {
	groups := map[string]map[string][]*Run{}
	for _, cell := range c.cells {
		for _, r := range cell.arm(name).valid {
			model := r.Label(labelModel)
			if _, known := r.metric(k); !known || model == "" {
				continue
			}
			asked := map[string]string{labelScenario: r.Scenario}
			maps.Copy(asked, cell.within)
			delete(asked, labelModel)
			group := Cell(asked)
			if groups[group] == nil {
				groups[group] = map[string][]*Run{}
			}
			groups[group][model] = append(groups[group][model], r)
		}
	}
	return groups
}

// Names of the labels, or fields, that separate runs.
const (
	labelModel    = "model"
	labelScenario = "scenario"
)

// equal reports whether two groups of runs are equivalent in a metric, and returns t of the test for a difference.
func equal(k key, m figure.Figure, margin figure.Margin, a, b []*Run) (t float64, equivalent bool) {
	r := newContrast(m, margin, analysis{method: MethodWelch, a: (&arm{valid: a}).sample(k), b: (&arm{valid: b}).sample(k)})
	welch, err := stats.Welch(r.x, r.y)
	if err != nil {
		return 0, false
	}
	return welch.T, welch.EquivalentBetween(r.low, r.high).P <= significance
}

func fingerprint(r *Run) string { return r.Fingerprint }

// named returns the runs of a model.
func named(runs []*Run, model string) []*Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.Model != model })
}

// proveApart reports whether fingerprints show that different models answered two groups of runs.
func proveApart(a, b []*Run) bool {
	x, y := distinctOf(a, fingerprint), distinctOf(b, fingerprint)
	return len(x) > 0 && len(y) > 0 && !shared(x, y)
}

// fingerprintShared warns of models of different names that give the same answers.
func (c *comparing) fingerprintShared() []Warning {
	var all []Warning
	for _, print := range slices.Sorted(slices.Values(distinctOf(c.valid(), fingerprint))) {
		ofPrint := func(r *Run) string {
			if r.Fingerprint != print {
				return ""
			}
			return r.Model
		}
		if models := distinctOf(c.valid(), ofPrint); len(models) > 1 {
			all = append(all, warn(CodeFingerprintShared, "%s answer with one fingerprint: they are one model under several names", strings.Join(models, ", ")))
		}
	}
	return all
}
