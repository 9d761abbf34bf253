//go:build !proof

package compare_test

// campaigns is how many are compared of each row: those of the proof are these and more.
const campaigns, driftRows = 200, 1
