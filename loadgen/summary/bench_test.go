package summary

import (
	"testing"

	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// BenchmarkAggregate is the part of it that is not decoding.
func BenchmarkAggregate(b *testing.B) {
	record := testrun.LongRecord(0, 32)
	a := newAggregate(&settings{streaming: true})
	b.ReportAllocs()
	for b.Loop() {
		a.add(record)
	}
}
