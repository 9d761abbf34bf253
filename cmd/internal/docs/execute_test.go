//go:build proof

package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// longestPage is the time that a page may take before it is given up.
const longestPage = 12 * time.Minute

// showAll prints the result of every block, for authors of pages.
const showAll = "UMASCOPE_DOCS_SHOW"

// TestTheCommandsOfThePagesDoWhatTheyShow types each page from its first command to its last, as a reader on a DGX Spark
// would: in a folder of its own, in namespaces in which the addresses and folders of the page are free and nothing
// is left afterwards. The machine is a simulated one, the engines, containers and whatever else is foreign are stand-ins
// that look at their arguments; all are named in the log. The programs of the project are the real ones, but that
// uma-exporter looks at the simulated machine.
func TestTheCommandsOfThePagesDoWhatTheyShow(t *testing.T) {
	var typed []page
	for _, p := range pages(t) {
		if len(p.here()) > 0 {
			typed = append(typed, p)
		}
	}
	if len(typed) == 0 {
		t.Fatal("no page has a command")
	}
	namespaces := ownNamespaces(t)
	programs := builtPrograms(t)
	for _, p := range typed {
		t.Run(p.path, func(t *testing.T) {
			t.Parallel()
			execute(t, p, namespaces, programs)
		})
	}
}

// ownNamespaces is the command that starts another in namespaces of its own, with the rights of root in them.
func ownNamespaces(t *testing.T) []string {
	t.Helper()
	inside := []string{"--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"}
	var output []byte
	for _, command := range [][]string{append([]string{"unshare"}, inside...), append([]string{"unshare", "--user", "--map-root-user"}, inside...)} {
		out, err := exec.CommandContext(t.Context(), command[0], append(command[1:], "true")...).CombinedOutput()
		if err == nil {
			return command
		}
		output = append(append(output, err.Error()+" "...), out...)
	}
	t.Fatalf("commands of pages are typed in namespaces of their own, which this user cannot make here (as root it can): %s", output)
	return nil
}

// step is something that a reader does: a block that he types, or a terminal that he ends.
type step struct {
	Line     int
	Text     string `json:",omitempty"`
	Terminal string `json:",omitempty"`
	Until    string `json:",omitempty"`
	Ends     string `json:",omitempty"`
	CtrlC    string `json:",omitempty"`
}

// session is all that a reader does with a page.
type session struct {
	Page, Root, Scratch, Programs string
	Steps                         []step
	Quick                         []quick
}

// outcome is what came of a step.
type outcome struct {
	Line    int
	Output  string
	Problem string
	// Foreign are the stand-ins that were started.
	Foreign []string
}

// steps are those of the blocks that are executed here, in their order.
func (p page) steps() []step {
	var all []step
	end := func(line int, names []string) {
		for _, name := range names {
			all = append(all, step{Line: line, CtrlC: name})
		}
	}
	for _, b := range p.here() {
		end(b.line, b.ctrlC)
		all = append(all, step{Line: b.line, Text: b.text, Terminal: b.terminal, Until: b.until, Ends: b.ends})
	}
	end(len(p.lines), p.ended)
	return all
}

// execute types a page and judges what came.
func execute(t *testing.T, p page, namespaces []string, programs string) {
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	s := session{Page: p.path, Root: top, Scratch: t.TempDir(), Programs: programs, Steps: p.steps(), Quick: quickened()[p.path]}
	content, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.Scratch, "session.json")
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), namespaces[0], append(namespaces[1:], self)...)
	command.Env = append(os.Environ(), insideOf+"="+file)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	began := time.Now()
	err = command.Run()
	t.Logf("%d steps took %.1f s", len(s.Steps), time.Since(began).Seconds())
	judgePage(t, p, len(s.Steps), stdout.Bytes())
	if err != nil {
		t.Errorf("%s: %v\n%s", p.path, err, stderr.String())
	}
}

// judgePage reports what went wrong, and holds the outputs that the page shows to those that came.
func judgePage(t *testing.T, p page, steps int, results []byte) {
	t.Helper()
	came := map[int]string{}
	foreign := map[string]bool{}
	decoder := json.NewDecoder(bytes.NewReader(results))
	seen := 0
	for decoder.More() {
		var o outcome
		if err := decoder.Decode(&o); err != nil {
			t.Fatalf("%s: %v", p.path, err)
		}
		seen++
		came[o.Line] += o.Output
		for _, name := range o.Foreign {
			if !foreign[name] {
				foreign[name] = true
				t.Logf("stand-in: %s", name)
			}
		}
		if os.Getenv(showAll) != "" {
			t.Logf("%s:%d came:\n%s", p.path, o.Line, o.Output)
		}
		if o.Problem != "" {
			t.Errorf("%s:%d: %s\n%s", p.path, o.Line, o.Problem, o.Output)
		}
	}
	if seen != steps {
		t.Errorf("%s: %d of %d steps were done", p.path, seen, steps)
	}
	var last *block
	for i := range p.blocks {
		switch b := &p.blocks[i]; {
		case b.command():
			last = b
		case b.language == "text" && last != nil && len(last.runBy) == 0:
			out, done := came[last.line]
			if !done {
				continue
			}
			if missing := notShown(b.text, out); missing != "" {
				t.Errorf("%s:%d: nothing came like %q; what came:\n%s", p.path, b.line, missing, out)
			}
		}
	}
}

// quick is what makes a step short that takes a real machine long: the text of a file that the page has made. It must be there
// once, or the page has changed.
type quick struct{ File, Old, New string }

// quickened are those of each page, with the reasons.
func quickened() map[string][]quick {
	// The client, the engine and the machine share what may be two processors, and no figure is published.
	const contended = "validity: [client_lag=off, client_stall=off, stream_buffered=off, telemetry_lost=off], telemetry-interval: 500ms, "
	gates := func(file, cooldown, celsius, free string) []quick {
		return []quick{
			{file, "  cooldown: " + cooldown + "\n  gpu_celsius: " + celsius + "\n", "  cooldown: 0s\n  off: [gpu_celsius, cpu_ratio]\n"}, // half an hour
			{file, "  mem_free: " + free + "\n  mem_free_within: 1GiB\n", "  mem_free: 20GiB\n  mem_free_within: 100GiB\n"},               // the page cache that is evicted is not the simulated one
		}
	}
	first := append(gates("native-container.yaml", "5m", "45", "100GiB"),
		quick{"native-container.yaml", "run: {requests: 50, concurrency: 1, input-tokens: 128,", "run: {" + contended + "requests: 5, concurrency: 1, input-tokens: 128,"})
	modes := append(gates("kv-modes.yaml", "3m", "50", "90GiB"),
		quick{"kv-modes.yaml", "run: {scenario: eviction_replay,", "run: {" + contended + "scenario: eviction_replay,"})
	return map[string][]quick{"loadgen/NATIVE_CONTAINER.md": first, "loadgen/KV_DYNAMO.md": modes}
}

// apply makes what a step has left quick; which were done is kept by the caller.
func (q quick) apply(folder string) (bool, error) {
	path := filepath.Join(folder, q.File)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if strings.Count(string(text), q.Old) != 1 {
		return false, errors.New(q.File + " does not have once: " + q.Old + "; say anew what makes it quick")
	}
	return true, os.WriteFile(path, []byte(strings.Replace(string(text), q.Old, q.New, 1)), 0o644)
}
