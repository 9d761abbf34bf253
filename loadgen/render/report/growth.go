package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// growthTable has a row for each kind of memory that should not grow at equal load.
func growthTable(all []summary.Growth) render.Table {
	if len(all) == 0 {
		return render.Table{}
	}
	t := render.Table{Header: []string{"at equal load", "verdict", "MiB a minute", "95 % interval", "samples", "counts from"}, Words: []int{1}}
	for _, g := range all {
		verdict := strings.ReplaceAll(string(g.Verdict), "_", " ")
		if g.Reason != "" {
			verdict += ": " + g.Reason
		}
		slope, interval, least := format.None, format.None, format.None
		if g.BytesPerSecond != nil && g.CI95 != nil {
			slope, interval = perMinute(*g.BytesPerSecond), fmt.Sprintf("%s to %s", perMinute(g.CI95[0]), perMinute(g.CI95[1]))
		}
		if g.Least != nil {
			least = perMinute(*g.Least)
		}
		t.Add(g.Name(), verdict, slope, interval, strconv.Itoa(g.Samples), least)
	}
	return t
}

func perMinute(bytesPerSecond float64) string {
	return format.Digits(summary.MiBPerMinute(bytesPerSecond))
}
