//go:build !race

package demo

// usualSeeds is how many machines of each kind are looked at where nobody asks for more.
const usualSeeds = 8
