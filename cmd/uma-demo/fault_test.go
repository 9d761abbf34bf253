//go:build proof

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// limited puts the program under a limit of the shell's ulimit.
func (p *process) limited(t *testing.T, limit string) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	p.Args = append([]string{"sh", "-c", "ulimit " + limit + ` && exec "$0" "$@"`, p.Path}, p.Args[1:]...)
	p.Path = shell
}

// The limit of a file's size stands for the end of the disk: writes fail in the same place, and it needs neither root nor a
// file system.
func TestAFullDiskIsOneLineWithAFix(t *testing.T) {
	// In blocks of 512 bytes: too small for the reports of runs, and for the samples alone, which are 1.4 MB at the end and less
	// on a busy computer.
	for _, blocks := range []string{"128", "1024"} {
		t.Run(blocks, func(t *testing.T) {
			t.Parallel()
			p := program(t, "--quick", "--out", "here")
			p.limited(t, "-f "+blocks)
			err := p.Run()
			output := p.stderr.String()
			if code := p.ProcessState.ExitCode(); code != 1 && code != 2 || strings.Count(output, "\n") != 1 {
				t.Errorf("%v: exit code %d: %s", err, code, output)
			}
			if !strings.HasPrefix(output, "uma-demo: --out here: file too large: make room, or name another folder") {
				t.Errorf("%s", output)
			}
			p.expectNothingLeft(t, 0)
		})
	}
}

func TestAnAddressThatIsTakenIsRefusedIfItWasAskedForAndLeavesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p := program(t, "--serve", "--web.listen-address", taken.Addr().String())
	if err := p.Run(); err == nil || p.ProcessState.ExitCode() != 2 {
		t.Errorf("%v", err)
	}
	if output := p.stderr.String(); strings.Count(output, "\n") != 1 || !strings.Contains(output, "--web.listen-address "+taken.Addr().String()) {
		t.Errorf("%q", output)
	}
	if left, err := os.ReadDir(p.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFolderThatCannotBeWrittenToIsOneLine(t *testing.T) {
	p := program(t, "--out", "file/below")
	if err := os.WriteFile(filepath.Join(p.Dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err == nil || p.ProcessState.ExitCode() != 2 {
		t.Errorf("%v", err)
	}
	if output := p.stderr.String(); output != "uma-demo: --out file/below: not a directory: name a folder that you may write to\n" {
		t.Errorf("%q", output)
	}
}

// TestWhatLiesInTheFolderStays: an older demo, and what somebody else has put there.
func TestWhatLiesInTheFolderStays(t *testing.T) {
	p := program(t, "--quick")
	older := []string{"uma-demo/demo-20260101T000000Z/blocks.yaml", "uma-demo/notes.txt", "uma-demo/report.html"}
	for _, name := range older {
		path := filepath.Join(p.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("older"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.begin(t)
	p.await(t, "uma-demo/demo-*/*/journal.jsonl")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.ends(t)
	for _, name := range older {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if newest := filepath.Base(name) == "report.html"; err != nil || newest == (string(text) == "older") {
			t.Errorf("%s: %v, %.40s", name, err, text)
		}
	}
}
