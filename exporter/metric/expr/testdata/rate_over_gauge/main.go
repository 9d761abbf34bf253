// Command rate_over_gauge must not compile: the test of package expr builds it to see that.
package main

import (
	"fmt"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func main() {
	fmt.Println(expr.Rate(metric.MemoryAvailableBytes, expr.RateInterval))
	fmt.Println(expr.HistogramQuantile(0.5, metric.VmstatOOMKillsTotal, expr.RateInterval, nil))
}
