package demo

import (
	"os"
	"strconv"
	"testing"
)

// seedsSetting is the environment variable that says how many machines of each kind are looked at: 50 in the proof.
const seedsSetting = "UMASCOPE_TRUTH_SEEDS"

// truthSeeds returns the seeds of the machines of a kind: its own alone, unless the environment says how many.
func truthSeeds(t *testing.T, own int) (seeds []uint64) {
	t.Helper()
	text := os.Getenv(seedsSetting)
	if text == "" {
		return []uint64{uint64(own)}
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		t.Fatalf("%s=%s: want a number of machines from 1 on", seedsSetting, text)
	}
	for seed := range n {
		seeds = append(seeds, seed)
	}
	return seeds
}
