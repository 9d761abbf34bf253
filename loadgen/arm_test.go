package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"
)

const planOfArms = `schema: umascope.plan/1
name: try
models: [{name: small}, {name: large}]
values: {word: "it is up"}
arms:
  - name: native
    files: [{path: "{{.folder}}/engine.yaml", text: "model: {{.model}}\n"}]
    processes:
      - name: engine
        argv: [sh, -c, "cat $CONF; echo {{.word}}; exec sleep 1000", hunter2]
        env: {CONF: "{{.folder}}/engine.yaml"}
        ready: {log: "^it is up$", every: 5ms}
  - name: broken
    processes: [{name: engine, argv: [sh, -c, "printf '\\033[31mout of memory\\033[0m\\n'; exit 3"], ready: {log: never}}]
  - name: missing
    processes: [{name: engine, argv: [no-such-engine]}]
scenarios: [{name: s, run: {requests: 1}}]
`

// armed runs a sub-command of arm with that plan.
func armed(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaint bytes.Buffer
	args = append([]string{"arm"}, append(args, "--plan", filepath.Join(dir, "plan.yaml"), "--out", filepath.Join(dir, "runs"))...)
	code = Run(t.Context(), args, &out, &complaint)
	return code, out.String(), complaint.String()
}

func armPlan(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	overwrite(t, filepath.Join(dir, "plan.yaml"), planOfArms)
	return dir
}

func TestAnArmIsUsedByHand(t *testing.T) {
	dir := armPlan(t)
	plan := filepath.Join(dir, "plan.yaml")
	of := []string{"native", "--model", "small"}
	step := func(code int, stdout, stderr string, args ...string) {
		t.Helper()
		gotCode, gotOut, gotErr := armed(t, dir, args...)
		if gotCode != code || !strings.Contains(gotOut, stdout) || !strings.Contains(gotErr, stderr) || strings.Contains(gotOut+gotErr, "hunter2") {
			t.Errorf("%q: exit %d, %q, %q", args, gotCode, gotOut, gotErr)
		}
	}
	step(0, "arm native is down\n", "", append([]string{"status"}, of...)...)
	step(0, "arm native is down\n", "", append([]string{"down"}, of...)...)
	step(2, "", "has ever been started", append([]string{"logs"}, of...)...)
	step(0, "  alive\n", "", append([]string{"up"}, of...)...)
	step(0, "engine   here   ", "", append([]string{"status"}, of...)...)
	step(2, "", "uma-load: arm native is up already: engine (process ", append([]string{"up"}, of...)...)
	step(2, "", "uma-load arm status native --plan "+plan+" --model small --out "+filepath.Join(dir, "runs")+" shows it, uma-load arm down native --plan "+plan+" --model small --out "+filepath.Join(dir, "runs")+" ends it\n", append([]string{"up"}, of...)...)
	step(0, "==> engine: ", "", append([]string{"logs"}, of...)...)
	step(0, "\nmodel: small\nit is up\n", "", append([]string{"logs", "-n2"}, of...)...)
	step(2, "", "no process engin has ever been started", append([]string{"logs", "--process", "engin"}, of...)...)
	if _, err := os.Stat(filepath.Join(dir, "runs", "try", "arms", "small", "native", "arm.json")); err != nil {
		t.Error(err)
	}
	step(0, "arm native is down\n", "", append([]string{"down"}, of...)...)
	step(0, "arm native is down\n", "", append([]string{"status"}, of...)...)
}

func TestLogsOfAnArmAreFollowedUntilAnInterrupt(t *testing.T) {
	dir := armPlan(t)
	if code, _, stderr := armed(t, dir, "up", "native", "--model", "large"); code != 0 {
		t.Fatal(stderr)
	}
	defer armed(t, dir, "down", "native", "--model", "large")
	log := filepath.Join(dir, "runs", "try", "arms", "large", "native", "logs", "engine.log")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out := &awaited{want: "and\uFFFD more\n", found: cancel}
	go func() { // before or after it is followed from its end: the other half comes after that
		for range time.Tick(10 * time.Millisecond) {
			file, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = file.WriteString("one\n\x1b[1mand\x07 more\x1b[0m\nhalf")
			}
			if err != nil || file.Close() != nil || ctx.Err() != nil {
				return
			}
		}
	}()
	code := Run(ctx, []string{"arm", "logs", "native", "-n0", "-f", "--model", "large", "--plan", filepath.Join(dir, "plan.yaml"), "--out", filepath.Join(dir, "runs")}, out, io.Discard)
	if code != 0 || !strings.HasSuffix(out.String(), "one\nand\uFFFD more\n") {
		t.Errorf("exit %d, %q", code, out.String())
	}
}

// awaited says when it was given a text.
type awaited struct {
	lockedBuffer
	want  string
	found func()
}

func (a *awaited) Write(text []byte) (int, error) {
	defer func() {
		if strings.Contains(a.String(), a.want) {
			a.found()
		}
	}()
	return a.lockedBuffer.Write(text)
}

func TestAnArmThatDoesNotComeUpSaysWhy(t *testing.T) {
	dir := armPlan(t)
	code, stdout, stderr := armed(t, dir, "up", "broken", "--model", "small")
	if code != 1 || stdout != "" || !strings.HasSuffix(stderr, "\nout of memory\numa-load: arm broken: engine ended with exit code 3 before the arm was up\n") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	for want, args := range map[string][]string{
		`arm missing: engine: program no-such-engine: exec: "no-such-engine"`: {"up", "missing", "--model", "small"},
		"--model: the plan has small, large: name one":                        {"up", "native"},
		`the plan has no arm "nativ"`:                                         {"status", "nativ", "--model", "small"},
		`the plan has no model "smal"`:                                        {"down", "native", "--model", "smal"},
	} {
		if code, _, stderr := armed(t, dir, args...); code != 2 || !strings.HasPrefix(stderr, "uma-load: "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %q", args, code, stderr)
		}
	}
}

// TestAnArmThatAnotherProcessHoldsIsNamedWithIt holds the arm as another arm up does while it starts, then as a campaign.
func TestAnArmThatAnotherProcessHoldsIsNamedWithIt(t *testing.T) {
	dir := armPlan(t)
	campaignDir := filepath.Join(dir, "runs", "try")
	folder := campaign.ArmFolder(campaignDir, "small", "native")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	hold := func(path string) {
		t.Helper()
		file, err := arm.TakeLock(path, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
	}
	refused := func(verb string, want ...string) {
		t.Helper()
		code, _, stderr := armed(t, dir, verb, "native", "--model", "small")
		for _, one := range append(want, fmt.Sprintf("in use by process %d since ", os.Getpid())) {
			if code == 0 || !strings.Contains(stderr, one) {
				t.Errorf("arm %s: exit %d, %q is not in %s", verb, code, one, stderr)
			}
		}
	}
	hold(filepath.Join(folder, "arm.lock"))
	refused("up", "; uma-load arm status native --plan ", "shows it, uma-load arm down native --plan ")
	hold(filepath.Join(campaignDir, "campaign.lock"))
	refused("up", "; uma-load campaign status "+campaignDir+" shows it, uma-load campaign stop "+campaignDir+" stops it\n")
	refused("down", "; uma-load campaign status "+campaignDir+" shows it, uma-load campaign stop "+campaignDir+" stops it\n")
}
