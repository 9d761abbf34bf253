package exporter_test

import (
	"bytes"
	"os"
	"testing"
)

// uma-exporter --once | head; explain --watch ends when its output is closed.
func TestOutputWhoseReaderStopsEndsWithoutAMessage(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"--once", "--log.level=error"}, {"explain"}, {"explain", "--watch"}, {"fit"}, {"doctor"}, {"completion", "zsh"}} {
		read, write, err := os.Pipe()
		must(t, err)
		defer write.Close()
		must(t, read.Close())
		var messages bytes.Buffer
		c := command(t, args...)
		c.Stdout, c.Stderr = write, &messages
		if err := c.Run(); err != nil || messages.Len() > 0 {
			t.Errorf("%v: %v: %s", args, err, messages.String())
		}
	}
}
