//go:build race

package demo

// usualSeeds is how many machines of each kind are looked at. The race detector makes all of it many times as slow and
// has seen it after the first ones.
const usualSeeds = 2
