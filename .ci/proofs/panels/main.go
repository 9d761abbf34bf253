// Panels judges drawings of dashboards, which draw.mjs made in Chromium with Grafana's libraries:
//
//	panels EMPTY LONG <DRAWINGS
//
// EMPTY is the file of panels that may be empty, LONG that of texts that may be cut; DRAWINGS has a line of JSON for each drawing. It prints the table of
// dashboards/MEASURED.md, and each fault to standard error. Exit codes: 0 no fault; 1 faults; 2 bad input.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: panels EMPTY LONG <DRAWINGS")
		os.Exit(2)
	}
	faults, err := run(os.Args[1], os.Args[2], os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "panels:", err)
		os.Exit(2)
	}
	for _, fault := range faults {
		fmt.Fprintln(os.Stderr, fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}
