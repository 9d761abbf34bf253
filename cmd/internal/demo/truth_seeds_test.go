//go:build proof

package demo

// usualSeeds is how many machines of each kind are simulated if UMASCOPE_TRUTH_SEEDS is not set.
const usualSeeds = 8

// mechanismSeeds are of machines whose desktops do different things.
var mechanismSeeds = []uint64{1, 2, 3, 4, 5}
