//go:build proof

package compare_test

// campaigns is how many are compared of each row.
const campaigns, driftRows, cleanShare = 1000, 6, .01
