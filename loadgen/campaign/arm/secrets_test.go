package arm

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

func TestTheLogsOfAnArmThatIsDownHaveNoKeyOfThePlan(t *testing.T) {
	const key = "sk-plan-0123456789"
	dir := t.TempDir()
	spec := armOf(plan.Process{
		Name: "engine", Argv: []string{"sh", "-c", `echo "args: api_key=$API_KEY"; echo "$API_KEY" | tr a-z A-Z; echo started; exec sleep 300`}, Env: map[string]string{"API_KEY": key},
		Ready: &plan.Probe{Log: "started", Every: time.Millisecond, Timeout: 20 * time.Second}, Stop: plan.Stop{Signal: "SIGTERM", Timeout: 20 * time.Second},
	})
	r := upIn(t, dir, spec)
	log := filepath.Join(dir, LogsFolder, "engine.log")
	before := read(t, log)
	if !strings.Contains(before, key) {
		t.Fatalf("the log: %q", before)
	}
	if err := r.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := read(t, log)
	if strings.Contains(strings.ToLower(after), key) || !strings.Contains(after, "args: api_key=***") || !strings.Contains(after, "\nstarted\n") || len(after) != len(before) {
		t.Errorf("%q", after)
	}
}
