package demo

import (
	"context"
	"fmt"
	"path/filepath"
)

// introduce says what is real and what is not before any figure appears.
func (p Program) introduce(c *cast, o options) {
	fmt.Fprintf(p.Stdout, `umascope demo
  real         %-12s this host as it is            %s
  constructed  %-12s a DGX Spark under load, from  %s
               %-12s published values
  simulated    %-12s an 8B model on a small engine %s

Driving the engine for %v, about 3 requests a second; telemetry of both hosts once a second.

`, c.here.name, c.here.url, c.spark.name, c.spark.url, "", "engine", c.engineURL, o.duration)
}

// explain prints the ledger of both hosts, one after the other.
func (p Program) explain(ctx context.Context, c *cast) {
	for _, host := range []watched{c.spark, c.here} {
		fmt.Fprintf(p.Stdout, "\n== uma-exporter explain, %s\n\n", host.name)
		if err := host.exporter.Explain(context.WithoutCancel(ctx), p.Stdout); err != nil {
			fmt.Fprintln(p.Stderr, "uma-demo: explain "+host.name+": "+err.Error())
		}
	}
}

// sayWhere ends the demo with what to look at and what to do next.
func (p Program) sayWhere(folder, out string) {
	fmt.Fprintf(p.Stdout, `
report      %s
run folder  %s

Next, on a machine with a real engine:
  go run ./cmd/uma-exporter
  go run ./cmd/uma-load run --url http://127.0.0.1:8000
`, filepath.Join(out, reportName), folder)
}
