//go:build proof

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/rundir"
)

// drill is a campaign of two arms in two rounds that is interrupted in its second slot.
type drill struct {
	experiment
	verb   []string
	starts int
	// run is the one in the second slot.
	run string
}

// invocation is a campaign run with its output in a file, which is read while it runs.
type invocation struct {
	*exec.Cmd
	t    *testing.T
	path string
}

func (d *drill) stall() string { return filepath.Join(d.dir, "stall") }

func (d *drill) start(args ...string) invocation {
	d.t.Helper()
	return d.startWith(func(*invocation) {}, args...)
}

// startWith changes the command before it starts.
func (d *drill) startWith(change func(*invocation), args ...string) invocation {
	d.t.Helper()
	d.starts++
	s := invocation{d.command(slices.Concat(d.verb, []string{"--web.listen-address=127.0.0.1:0"}, args)...), d.t, filepath.Join(d.dir, fmt.Sprint("output-", d.starts))}
	s.Env = append(os.Environ(), engineStall+"="+d.stall())
	output, err := os.Create(s.path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer output.Close()
	s.Stdout, s.Stderr = output, output
	change(&s)
	if err := s.Cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	kill := func() { _ = s.Process.Kill() } // in vain if it has ended
	bound := time.AfterFunc(3*time.Minute, kill)
	d.t.Cleanup(func() { bound.Stop(); kill() })
	return s
}

func (s invocation) output() string {
	s.t.Helper()
	text, err := os.ReadFile(s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// end waits for the process and returns its exit code, or the signal that ended it.
func (s invocation) end() string {
	_ = s.Wait() // by how it ended
	if status := s.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return strconv.Itoa(s.ProcessState.ExitCode())
}

// inSecondSlot starts the campaign and waits until the run in its second slot has recorded requests.
func (d *drill) inSecondSlot() invocation {
	d.t.Helper()
	s := d.start()
	d.run = d.await("the second run measures", func(e campaign.Event) bool { return e.Event == "up" && e.Slot == 2 }).Run
	d.until("it records requests", func() bool { return len(d.requests(d.run)) > 0 })
	return s
}

func (s invocation) signal(signal os.Signal) {
	s.t.Helper()
	if err := s.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// guardianLog is what the guardian of the second slot's arm wrote.
func (d *drill) guardianLog() string {
	d.t.Helper()
	d.until("the guardian has ended", func() bool { return len(d.guardians()) == 0 })
	text, err := os.ReadFile(filepath.Join(campaign.ArmFolder(d.folder(), "simulated", "b"), "logs", "guardian.log"))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// interruption is something that happens to a campaign.
type interruption struct {
	name string
	// happen lets it happen and returns how the campaign ended and what it printed.
	happen func(d *drill) (exit, output string)
	exit   string
	// message is the line by which a person learns of it.
	message string
	// free makes room again, or takes back what was changed.
	free func(d *drill)
	// disk is whether the folder of runs is a small file system of its own.
	disk bool
}

func interruptions() []interruption {
	return []interruption{
		{name: "SIGINT", exit: "1", message: `uma-load: campaign stopped: interrupted; of 4 slots 1 finished; campaign run goes on where it ended`, happen: func(d *drill) (string, string) {
			s := d.inSecondSlot()
			s.signal(os.Interrupt)
			return s.end(), s.output()
		}},
		{name: "SIGINT twice", exit: "1", message: `uma-load: campaign stopped: interrupted; of 4 slots 1 finished; campaign run goes on where it ended`, happen: func(d *drill) (string, string) {
			s := d.inSecondSlot()
			d.write(d.stall(), "") // requests in flight stay there
			s.signal(os.Interrupt)
			d.until("the first one is heard", func() bool { return strings.Contains(s.output(), "interrupt again") })
			s.signal(os.Interrupt)
			return s.end(), s.output()
		}, free: func(d *drill) { d.remove(d.stall()) }},
		{name: "SIGKILL", exit: "SIGKILL", message: `uma-load was killed: its guardian stopped the arm`, happen: func(d *drill) (string, string) {
			s := d.inSecondSlot()
			s.signal(os.Kill)
			return s.end(), d.guardianLog()
		}},
		{name: "SIGKILL, and run at once", exit: "SIGKILL", message: `the last start of the campaign was cut off: its slot gets another run" slot=2`, happen: func(d *drill) (string, string) {
			s := d.inSecondSlot()
			s.signal(os.Kill)
			exit, again := s.end(), d.start()
			if code := again.end(); code != "0" {
				d.t.Errorf("exit %s: %s", code, again.output())
			}
			return exit, again.output()
		}},
		{name: "two starts", exit: "2", message: `a campaign runs there already, as process \d+ since .*; uma-load campaign status .* shows it`, happen: func(d *drill) (string, string) {
			one, other := d.start(), d.start()
			exits := []string{one.end(), other.end()}
			if exits[0] == "2" {
				one, other = other, one
			}
			if slices.Sort(exits); !slices.Equal(exits, []string{"0", "2"}) {
				d.t.Errorf("exits %v:\n%s\n%s", exits, one.output(), other.output())
			}
			return exits[1], other.output()
		}},
		{name: "dead engine", exit: "0", message: `msg=slot number=2 .*status=failed .*why="arm b: engine ended by SIGKILL`, happen: func(d *drill) (string, string) {
			s := d.inSecondSlot()
			if err := unix.Kill(d.engine(), unix.SIGKILL); err != nil {
				d.t.Fatal(err)
			}
			return s.end(), s.output()
		}},
		{name: "full disk", exit: "1", message: `uma-load: .*no space left on device`, disk: true, happen: func(d *drill) (string, string) {
			s := d.inSecondSlot()
			d.fill()
			return s.end(), s.output()
		}, free: func(d *drill) { d.remove(d.ballast()) }},
		{name: "SIGKILL, full disk", exit: "SIGKILL", message: `the last start of the campaign was cut off: its slot gets another run" slot=2`, disk: true, happen: func(d *drill) (string, string) {
			s := d.inSecondSlot()
			engine := d.engine()
			s.signal(unix.SIGSTOP) // so that it does not see the disk
			d.fill()
			s.signal(os.Kill)
			exit := s.end()
			d.until("the guardian has ended", func() bool { return len(d.guardians()) == 0 })
			if d.answers() {
				d.t.Errorf("the engine %d is still there", engine)
			}
			d.remove(d.ballast())
			again := d.start()
			if code := again.end(); code != "0" {
				d.t.Errorf("exit %s: %s", code, again.output())
			}
			return exit, again.output()
		}},
		{name: "changed plan", exit: "2", message: `the campaign began with another plan: .*--plan-changed`, happen: func(d *drill) (string, string) {
			if s := d.start("--iterations=1"); s.end() != "0" {
				d.t.Fatal(s.output())
			}
			d.edit("duration: 3s", "duration: 4s")
			forced := d.start("--plan-changed")
			if code := forced.end(); code != "2" || !strings.Contains(forced.output(), "slot 1") || !strings.Contains(forced.output(), "duration") {
				d.t.Errorf("exit %s: %s", code, forced.output())
			}
			s := d.start()
			return s.end(), s.output()
		}, free: func(d *drill) { d.edit("duration: 4s", "duration: 3s") }},
	}
}

func (d *drill) write(path, text string) {
	d.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *drill) remove(path string) {
	d.t.Helper()
	if err := os.Remove(path); err != nil {
		d.t.Fatal(err)
	}
}

// engine is the process of the second slot's engine.
func (d *drill) engine() int {
	d.t.Helper()
	var state arm.State
	readJSON(d.t, filepath.Join(campaign.ArmFolder(d.folder(), "simulated", "b"), arm.StateFile), &state)
	return state.Processes[0].Leader.PID
}

func (d *drill) ballast() string { return filepath.Join(d.dir, "runs", "ballast") }

// fill leaves no room on the file system of the runs.
func (d *drill) fill() {
	d.t.Helper()
	file, err := os.Create(d.ballast())
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	for _, size := range []int{1 << 20, 1 << 12} {
		for err = nil; err == nil; _, err = file.Write(make([]byte, size)) {
		}
		if !errors.Is(err, unix.ENOSPC) {
			d.t.Fatal(err)
		}
	}
}

// diskBytes is the size of a small disk: room for the runs of a campaign.
const diskBytes = 64 << 20

// mount puts the runs on a small file system.
func (d *drill) mount() {
	d.t.Helper()
	dir := filepath.Join(d.dir, "runs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", diskBytes)); err != nil {
		d.t.Fatalf("a small file system: %v: run .ci/proofs/interruptions/prove, which makes a namespace for it", err)
	}
	d.t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			d.t.Error(err)
		}
	})
}

// expectNothingRuns looks for processes that work in the folder of the drill, and for engines.
func (d *drill) expectNothingRuns() {
	d.t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, path := range paths {
		cwd, _ := os.Readlink(filepath.Join(path, "cwd")) // nothing, if it has ended meanwhile
		environment, _ := os.ReadFile(filepath.Join(path, "environ"))
		stat, _ := os.ReadFile(filepath.Join(path, "stat"))
		if (strings.HasPrefix(cwd, d.dir) || strings.Contains(string(environment), engineStall+"="+d.stall())) && !strings.Contains(string(stat), ") Z ") {
			d.t.Errorf("still there: %s", stat)
		}
	}
}

// resume runs the campaign again, which has to finish: every slot has one valid run, made in the plan's order.
func (d *drill) resume() string {
	d.t.Helper()
	s := d.start()
	if code := s.end(); code != "0" {
		d.t.Fatalf("exit %s: %s", code, s.output())
	}
	var order []string
	for _, e := range d.events() {
		if e.Event == "run" && e.Status == campaign.Finished {
			order = append(order, fmt.Sprint(e.Slot, e.Arm))
		}
	}
	if want := []string{"1a", "2b", "3b", "4a"}; !slices.Equal(order, want) {
		d.t.Errorf("valid runs %v, want %v", order, want)
	}
	facts, err := campaign.ReadFacts(d.folder())
	if err != nil {
		d.t.Fatal(err)
	}
	valid := map[int]int{}
	paths, err := filepath.Glob(filepath.Join(d.folder(), "*", rundir.ManifestFile))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, path := range paths {
		var m rundir.Manifest
		readJSON(d.t, path, &m)
		if m.State == rundir.StateComplete {
			valid[m.Campaign.Slot]++
		}
	}
	for _, slot := range facts.Slots {
		if slot.Status != campaign.Finished || valid[slot.Number] != 1 {
			d.t.Errorf("slot %d is %s, with %d complete runs", slot.Number, slot.Status, valid[slot.Number])
		}
	}
	return strings.Join(order, " ")
}

// shown is the line of an output that has the message, without its time and the folder of the drill.
func (d *drill) shown(output, message string) string {
	d.t.Helper()
	for line := range strings.Lines(output) {
		if regexp.MustCompile(message).MatchString(line) {
			line = regexp.MustCompile(`^time=\S+ level=\S+ `).ReplaceAllString(strings.TrimSpace(line), "")
			return strings.ReplaceAll(line, d.dir, "…")
		}
	}
	d.t.Errorf("no %s in\n%s", message, output)
	return "-"
}

// TestEveryInterruptionOfACampaignIsShownAndGoneOnFrom prints a table: the interruption, the exit code of campaign run or the signal
// that ended it, the line that shows what happened, and the slots of the valid runs in their order after the last campaign run.
func TestEveryInterruptionOfACampaignIsShownAndGoneOnFrom(t *testing.T) {
	table := []string{fmt.Sprintf("%-26s %-8s %-13s %s", "INTERRUPTION", "EXIT", "AFTER RESUME", "MESSAGE")}
	for _, i := range interruptions() {
		t.Run(i.name, func(t *testing.T) {
			d := &drill{experiment: newExperiment(t, "duration: 3s, concurrency: 2", 2), verb: []string{"campaign", "run", "plan.yaml"}}
			if i.disk {
				d.mount()
			}
			exit, output := i.happen(d)
			if exit != i.exit {
				t.Errorf("exit %s, want %s: %s", exit, i.exit, output)
			}
			message := d.shown(output, i.message)
			d.expectNothingRuns()
			if i.free != nil {
				i.free(d)
			}
			after := d.resume()
			d.expectNothingRuns()
			table = append(table, fmt.Sprintf("%-26s %-8s %-13s %s", i.name, exit, after, message))
		})
	}
	fmt.Println(strings.Join(table, "\n"))
}
