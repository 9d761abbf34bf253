package exporter

import (
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/ledger"
)

// The table of a moment that explain and the landing page show: by size, and to the byte the pool.
func TestTheLedgerOfEveryHostIsShownBySizeAndAddsUpToThePool(t *testing.T) {
	row := regexp.MustCompile(`(?m)^  ([A-Za-z -]+?) +(-?[0-9.]+) +-?[0-9.]+%`)
	eachHost(t, func(t *testing.T, name string) {
		host, _ := openMachine(t, name)
		t.Cleanup(host.Close)
		reading, err := collector.NewSample(host, collector.Options{}).Memory(t.Context())
		must(t, err)
		if sum, pool := ledger.Sum(reading.Lines), float64(reading.Meminfo["MemTotal"]); sum != pool {
			t.Errorf("the lines are %.0f of a pool of %.0f", sum, pool)
		}
		var shown []float64
		for _, match := range row.FindAllStringSubmatch(explained(t, host), -1) {
			gib, err := strconv.ParseFloat(match[2], 64)
			must(t, err)
			shown = append(shown, -gib)
		}
		if len(shown) < 10 || !slices.IsSorted(shown) {
			t.Errorf("not by size: %v", shown)
		}
	})
}
