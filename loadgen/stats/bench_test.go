package stats

import "testing"

// A comparison asks for the drift of every metric in every arm.
func BenchmarkSpearmanOfTen(b *testing.B) {
	for b.Loop() {
		if _, err := Spearman(sleepA, sleepB); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMannWhitneyOfTwentyFive(b *testing.B) {
	for b.Loop() {
		if _, err := MannWhitney(thirty[:25], twentyEight[:25]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDetectable(b *testing.B) {
	for b.Loop() {
		if _, err := MinimumDetectable(10, .8, .05); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEquivalenceSampleSize(b *testing.B) {
	for b.Loop() {
		if _, err := EquivalenceSampleSize(1.4, .8, .05); err != nil {
			b.Fatal(err)
		}
	}
}
