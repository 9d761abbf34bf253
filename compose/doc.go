// Package compose is the stack of containers: exporter, finished runs, Prometheus, Alertmanager and Grafana, on one
// machine or on several, over real machines or a simulated one.
//
// It holds YAML, the scripts that prepare it, and no code. Its tests load everything as Docker, Prometheus and Grafana
// would, compare ports, jobs and paths with the constants that the programs use, and run the scripts against a Docker
// that answers as a real one would.
package compose
