package loadgen

import (
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// cells are the cells of every ready plan.
func cells(t *testing.T, each func(name string, p *plan.Plan, c *plan.Cell)) {
	t.Helper()
	for _, name := range plan.ReadyNames() {
		text, err := plan.ReadyText(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Parse(name+".yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.Models {
			for _, a := range p.Arms {
				c, err := p.Render(m.Name, a.Name, map[string]string{plan.ValueFolder: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				each(name, p, c)
			}
		}
	}
}

// TestTheRunsOfReadyPlansAreAccepted parses the command line of every run and checks its flags against each other.
func TestTheRunsOfReadyPlansAreAccepted(t *testing.T) {
	runs, records := 0, 0
	cells(t, func(name string, _ *plan.Plan, c *plan.Cell) {
		for _, s := range c.Scenarios {
			flags := maps.Clone(c.Flags)
			maps.Copy(flags, s.Run)
			line := newCommandLine(io.Discard)
			args := []string{line.run.FullCommand()}
			if s.Record != nil {
				records++
				flags = maps.Clone(s.Record.Flags)
				args = []string{line.record.verb.FullCommand(), "--extract=" + s.Record.Extract}
			} else {
				runs++
			}
			for _, flag := range slices.Sorted(maps.Keys(flags)) {
				for _, value := range plan.Lines(flags[flag]) {
					args = append(args, line.arguments([]plan.Flag{{Name: flag, Value: value}})...)
				}
			}
			for _, page := range c.Telemetry {
				args = append(args, "--telemetry="+page)
			}
			for _, page := range c.Scrape {
				args = append(args, "--scrape="+page)
			}
			if s.Record != nil {
				args = append(append(args, "--"), s.Record.Argv...)
			}
			_, _, err := line.parse(args)
			if err == nil && s.Record == nil {
				err = line.settings.resolve("host")
			}
			if err != nil {
				t.Errorf("%s, %s, %s: %v: %v", name, c.Arm.Name, s.Name, err, args)
			}
		}
	})
	if runs < 40 || records < 6 {
		t.Errorf("%d runs and %d records were looked at", runs, records)
	}
}

// TestProcessesOfReadyPlansAreStoppedByTheirName: a container that a plan starts is the one that it stops and looks at.
func TestProcessesOfReadyPlansAreStoppedByTheirName(t *testing.T) {
	name := regexp.MustCompile(`^--name=(.+)$`)
	cells(t, func(of string, _ *plan.Plan, c *plan.Cell) {
		for _, one := range c.Arm.Processes {
			for _, word := range one.Argv {
				match := name.FindStringSubmatch(word)
				if match == nil {
					continue
				}
				if stop := one.Stop.Argv; len(stop) == 0 || stop[0] != "docker" || stop[len(stop)-1] != match[1] {
					t.Errorf("%s, %s, %s: the container %s is stopped by %q", of, c.Arm.Name, one.Name, match[1], stop)
				}
				if c.Flags["container"] != match[1] {
					t.Errorf("%s, %s: the run looks at the container %q, started is %s", of, c.Arm.Name, c.Flags["container"], match[1])
				}
			}
		}
	})
}

// TestTheCommandsInReadyPlansAreCommands holds what their comments tell to type against the program.
func TestTheCommandsInReadyPlansAreCommands(t *testing.T) {
	command := regexp.MustCompile(`uma-load ([a-z].*?)\s*(?:\n|$)`)
	seen := 0
	for _, name := range plan.ReadyNames() {
		text, err := plan.ReadyText(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			comment, is := strings.CutPrefix(strings.TrimSpace(line), "#")
			if !is {
				continue
			}
			match := command.FindStringSubmatch(comment)
			if match == nil || !strings.HasPrefix(match[1], "campaign ") && !strings.HasPrefix(match[1], "compare ") {
				continue
			}
			seen++
			if _, _, err := newCommandLine(io.Discard).parse(strings.Fields(match[1])); err != nil {
				t.Errorf("%s: uma-load %s: %v", name, match[1], err)
			}
		}
	}
	if seen < 6 {
		t.Errorf("%d commands were found", seen)
	}
}

// TestThePythonOfReadyPlansIsPython compiles the scripts of their checks, where there is a Python.
func TestThePythonOfReadyPlansIsPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("no python3 on this machine: its scripts are looked at where there is one")
		return
	}
	cells(t, func(name string, _ *plan.Plan, c *plan.Cell) {
		for _, check := range c.Checks {
			i := slices.Index(check.Argv, "-c")
			if i < 0 || filepath.Base(check.Argv[i-1]) != "python3" {
				continue
			}
			out, err := exec.Command(python, "-c", "import sys; compile(sys.argv[1], 'check', 'exec')", check.Argv[i+1]).CombinedOutput()
			if err != nil {
				t.Errorf("%s, %s: %v: %s", name, check.Name, err, out)
			}
		}
	})
}
