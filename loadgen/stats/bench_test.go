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
