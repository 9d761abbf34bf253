// Package compose is the stack of containers on one machine: exporter, Prometheus, Grafana.
//
// It holds YAML and no code. Its test loads everything as Docker, Prometheus and Grafana would and
// compares ports, jobs and paths with the constants that the programs use.
package compose
