//go:build !proof

package compare_test

// campaigns is how many are compared of each row: those of the proof are these and more. cleanShare is the share of clean
// ones that may be confounded: of so few, one more or less is half a point.
const campaigns, driftRows, cleanShare = 200, 3, .015
