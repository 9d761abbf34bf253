//go:build race

package campaign_test

// seeds is how many campaigns are carried out in each order. The race detector makes the arithmetic six
// times as slow and has seen all of it after the first few; the shares are those of the 200 campaigns that
// are carried out without it. Seeds are fixed, so that the same campaigns are compared every time.
const seeds = 40
