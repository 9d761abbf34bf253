package loadgen

import (
	"fmt"
	"io"

	"github.com/umascope/umascope/exporter/metric"
)

// figureName is the name of a metric as a flag gave it, with its current name.
type figureName struct{ given, now string }

func currentName(given string) figureName {
	now, _ := metric.CurrentName(metric.RenamedFigures(), given)
	return figureName{given, now}
}

// notice prints a notice if a flag gave the old name of a metric.
func (n figureName) notice(stderr io.Writer, flag string) {
	if n.given != n.now {
		fmt.Fprintf(stderr, "uma-load: %s: %s is called %s now\n", flag, n.given, n.now)
	}
}
