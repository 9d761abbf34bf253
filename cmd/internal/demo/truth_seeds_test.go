//go:build proof

package demo

// usualSeeds is how many machines of each kind are simulated if UMASCOPE_TRUTH_SEEDS is not set.
const usualSeeds = 8
