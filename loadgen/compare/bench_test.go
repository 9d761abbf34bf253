package compare_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// The largest plan that is ready: ten models of thirty runs in three arms, with every figure that a run
// can have. Most of it goes into the permutations that drift is tested by.
func BenchmarkNineHundredRuns(b *testing.B) {
	var e experiment
	random := rand.New(rand.NewPCG(3, 4))
	for iteration := range 30 {
		for model := range 10 {
			for _, arm := range []string{"off", "cpu_only", "cpu_disk"} {
				metrics := map[string]float64{}
				for _, m := range figure.Compared() {
					metrics[m.Name] = 100 * (1 + 0.01*random.NormFloat64())
				}
				e.run(arm, metrics, func(r *compare.Run) {
					r.Model, r.Pair = fmt.Sprint("model", model), fmt.Sprint(model, " ", iteration)
				})
			}
		}
	}
	for b.Loop() {
		if _, err := compare.Compare(e.runs, compare.Options{By: "arm", Within: []string{"model"}}); err != nil {
			b.Fatal(err)
		}
	}
}
