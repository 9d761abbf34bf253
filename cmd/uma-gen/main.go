// Command uma-gen writes the files that are generated from the vocabulary: Grafana dashboards, Prometheus rules with
// their runbook, and the metric reference. With --check it only compares.
package main

import (
	"os"

	"github.com/umascope/umascope/cmd/terminal"
)

//go:generate go run . --dir ../..

func main() {
	os.Exit(run(os.Args[1:], terminal.Stdout(nil), os.Stderr))
}
