//go:build !proof

package compare_test

// campaigns is how many are compared of each row: those of the proof are these and more. cleanShare is the share of clean
// ones that may be confounded: of so few, one more or less is a point.
const campaigns, driftRows, cleanShare = 100, 2, .02
