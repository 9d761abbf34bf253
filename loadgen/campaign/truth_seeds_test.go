//go:build !race

package campaign_test

// seeds is how many campaigns are carried out in each order.
const seeds = 200
