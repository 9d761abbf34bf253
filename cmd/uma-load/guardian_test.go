package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign"
)

// guardians are the process ids of the guardians of the arms of a campaign.
func (x experiment) guardians() (pids []int) {
	x.t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		x.t.Fatal(err)
	}
	for _, path := range paths {
		text, _ := os.ReadFile(path) // nothing, if it has ended meanwhile
		if args := bytes.Split(text, []byte{0}); len(args) > 2 && string(args[1]) == "guardian" && bytes.HasPrefix(args[2], []byte(x.folder())) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				x.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

func (x experiment) guardian() int {
	x.t.Helper()
	pids := x.guardians()
	if len(pids) != 1 {
		x.t.Fatalf("guardians %v", pids)
	}
	return pids[0]
}

// kill ends a process as the kernel does when memory runs out.
func kill(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
}

// until waits until something holds.
func (x experiment) until(what string, holds func() bool) {
	x.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			x.t.Fatalf("never: %s", what)
		}
	}
}

// expectStopped waits until the guardian of an arm has stopped it and has ended.
func (x experiment) expectStopped(arm string) {
	x.t.Helper()
	x.until("the guardian has ended", func() bool { return len(x.guardians()) == 0 })
	if x.answers() {
		x.t.Error("the engine is still there")
	}
	const output = "uma-load was killed: its guardian stopped the arm"
	log, err := os.ReadFile(filepath.Join(campaign.ArmFolder(x.folder(), "simulated", arm), "logs", "guardian.log"))
	if err != nil || bytes.Count(log, []byte("\n")) != 1 || !bytes.Contains(log, []byte(output)) {
		x.t.Errorf("%s (%v)", log, err)
	}
	if status, err := x.command("campaign", "status").CombinedOutput(); err != nil || !strings.Contains(string(status), output) {
		x.t.Errorf("%s (%v)", status, err)
	}
}

func TestTheEngineOfACampaignThatIsKilledIsStopped(t *testing.T) {
	x := newExperiment(t, "duration: 1h", 1)
	first, _ := x.start()
	begun := x.await("the first run measures", func(e campaign.Event) bool { return e.Event == "up" })
	x.until("it sends requests", func() bool { return len(x.requests(begun.Run)) > 0 })
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} { // which stop everything that a person sees
		if err := syscall.Kill(x.guardian(), signal); err != nil {
			t.Fatal(err)
		}
	}
	kill(t, first)
	x.expectStopped("a")
	x.edit("duration: 1h", "requests: 4")
	second, output := x.start("--plan-changed")
	if err := second.Wait(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if got, want := x.slots(), []string{"1 a finished of 2", "2 b finished of 1"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if want := `msg="the last start of the campaign was cut off: its slot gets another run" slot=1 run=` + begun.Run; !strings.Contains(output.String(), want) {
		t.Errorf("no %s in %s", want, output)
	}
	if left := x.guardians(); len(left) > 0 || x.answers() {
		t.Errorf("guardians %v are left, an engine answers: %t", left, x.answers())
	}
}

func TestAnEngineThatComesUpWhenItsCampaignIsKilledIsStopped(t *testing.T) {
	x := newExperiment(t, "requests: 4", 1)
	x.edit("/v1/models", "/never")
	first, _ := x.start()
	x.until("the engine answers", x.answers)
	kill(t, first)
	x.expectStopped("a")
}

func TestAnArmThatIsUsedByHandHasNoGuardian(t *testing.T) {
	x := newExperiment(t, "requests: 4", 1)
	if output, err := x.command("arm", "up", "a", "--plan", "plan.yaml").CombinedOutput(); err != nil || !x.answers() {
		t.Fatalf("%v: %s", err, output)
	}
	if left := x.guardians(); len(left) > 0 {
		t.Errorf("guardians %v", left)
	}
	if output, err := x.command("arm", "down", "a", "--plan", "plan.yaml").CombinedOutput(); err != nil || x.answers() {
		t.Errorf("%v: %s", err, output)
	}
}

// edit changes the plan.
func (x experiment) edit(old, new string) {
	x.t.Helper()
	path := filepath.Join(x.dir, "plan.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}
