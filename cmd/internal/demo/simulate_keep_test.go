//go:build proof

package demo

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

// TestRunsOfOthersAreNotRemoved: the folder has by default the name that uma-load run gives its own.
func TestRunsOfOthersAreNotRemoved(t *testing.T) {
	t.Parallel() // most of it is waiting
	runs := t.TempDir()
	r := rehearse(t, runs, nil)
	r.prints(t, 1, finishedRun)
	r.ends(t)
	var measured string
	for _, run := range runsIn(t, runs) {
		measured = run.Path(rundir.ManifestFile)
	}
	text, err := os.ReadFile(measured)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.ReplaceAll(text, []byte(`"`+turnLabel+`":`), []byte(`"by":`))
	if bytes.Equal(text, other) {
		t.Fatal("the manifest has no label of the turn")
	}
	if err := os.WriteFile(measured, other, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.tidy(t.Context()); err == nil || !strings.Contains(err.Error(), "is no run of the simulation") {
		t.Errorf("it tidies up: %v", err)
	}
	var message bytes.Buffer
	options := r.options
	options.exporter, options.load, options.engine, options.kvbm = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	code := program(&message, &message).newSimulation(options, quickPace()).run(t.Context())
	if code != exitInput || !strings.HasPrefix(message.String(), "uma-demo: --runs "+runs+": ") || strings.Count(message.String(), "\n") != 1 {
		t.Errorf("exit %d: %s", code, &message)
	}
}
