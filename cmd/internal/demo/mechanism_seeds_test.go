//go:build !proof

package demo

// mechanismSeeds has one machine: those of other seeds are a proof.
var mechanismSeeds = []uint64{1}
