//go:build proof

package demo

// mechanismSeeds are of machines whose desktops do different things.
var mechanismSeeds = []uint64{1, 2, 3, 4, 5}
