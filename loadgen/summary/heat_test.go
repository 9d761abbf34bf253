package summary

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestAHeatMapHasEveryDurationInTheRowOfItsSize(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		ns := int64(math.Exp2(10 + 32*random.Float64()))
		row := heatRow(ns)
		if low, high := HeatEdge(row), HeatEdge(row+1); float64(ns) < low || float64(ns) >= high {
			t.Fatalf("%d ns is in the row of %g to %g", ns, low, high)
		}
		if high, low := HeatEdge(row+1), HeatEdge(row); high/low > 1.26 {
			t.Fatalf("a row of %g to %g", low, high)
		}
	}
	for ns, want := range map[int64]int{-5: 0, 0: 0, 1023: 0, 1024: 0, math.MaxInt64: HeatRows - 1} {
		if got := heatRow(ns); got != want {
			t.Errorf("%d ns is in row %d, want %d", ns, got, want)
		}
	}
}
