package loadgen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/summary"
)

// A plan that locks the clocks of the GPUs does so around every run, also of an arm without processes of its own.
func TestACampaignLocksTheClocksAroundItsRuns(t *testing.T) {
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	for name, text := range map[string]string{"nvidia-smi": "echo $1 >> " + asked, "sudo": `shift; [ "$1" != -l ] || shift; exec "$@"`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	path := filepath.Join(dir, "plan.yaml")
	tool := script(t, "echo load >> "+asked+"; echo 'Total Output Throughput (tokens/sec): 100'")
	text := strings.Replace(fmt.Sprintf(outlyingPlan, tool), "iterations: 3", "iterations: 1\nclocks: {lock: 1.5GHz}", 1)
	overwrite(t, path, text)
	if code, stdout, stderr := invokeVerb(t, "campaign", "run", path, "--out", dir, "--dry-run"); code != exitDone || !strings.Contains(stdout, "clocks.lock: nvidia-smi") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if err := os.Remove(asked); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if code, stdout, stderr := invokeVerb(t, "campaign", "run", path, "--out", dir, "--web.listen-address=127.0.0.1:0"); code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	const once = "--lock-gpu-clocks=1500,1500\nload\n--reset-gpu-clocks\n"
	if got, err := os.ReadFile(asked); err != nil || string(got) != once+once {
		t.Errorf("%s (%v)", got, err)
	}
	runs, _, err := summary.Load([]string{filepath.Join(dir, "outlying")})
	if err != nil || len(runs) != 2 || *runs[0].Manifest.Campaign.LockedClockHertz != 1.5e9 {
		t.Fatalf("%d runs (%v)", len(runs), err)
	}
	if facts := compare.FromRun(runs[0]).Facts; !slices.ContainsFunc(facts, func(f compare.Fact) bool { return f.Item == "GPU clocks locked to" && f.Value == "1500 MHz" }) {
		t.Errorf("%+v", facts)
	}
}
