// Command rate_over_counter compiles: beside rate_over_gauge it shows that the type is what fails there.
package main

import (
	"fmt"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func main() {
	fmt.Println(expr.Rate(metric.VmstatOOMKillsTotal, expr.RateInterval))
	fmt.Println(expr.HistogramQuantile(0.5, metric.LoadTimeToFirstTokenSeconds, expr.RateInterval, nil))
}
