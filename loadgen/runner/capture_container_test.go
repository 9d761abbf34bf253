package runner

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// inspected is what docker says of a running container, with what must not be recorded.
const inspected = `[{"Id":"4f1c0d","Name":"/engine","Path":"vllm","Args":["serve","--api-key","hunter2"],"Image":"sha256:9d8e7f",
"State":{"Running":true,"StartedAt":"2026-11-20T10:00:00.5Z"},
"Config":{"Image":"vllm/vllm-openai:v0.12","Env":["HF_TOKEN=hunter2"],"Cmd":["--api-key","hunter2"]},
"HostConfig":{"Memory":137438953472,"ShmSize":67108864,"IpcMode":"host","Binds":["/data:/data"],"LogConfig":{"Type":"json-file"}}}]`

// FuzzInspect: whatever the tool prints, the facts are those of one running container with an
// image, and hold no setting but the listed ones.
func FuzzInspect(f *testing.F) {
	for _, seed := range []string{inspected, "[]", "[{}]", "null", `[{"State":{"Running":true}}]`, `[{"State":{"Running":true,"StartedAt":"x"}}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, _, err := parseInspected(text)
		if err != nil {
			return
		}
		for key := range facts.HostConfig {
			if !strings.Contains(strings.Join(hostConfigKeys(), " "), key) {
				t.Fatalf("setting %q", key)
			}
		}
	})
}

func TestOfALongLogTheFrontIsEnough(t *testing.T) {
	var kept strings.Builder
	f := &front{to: &kept, left: 4}
	if n, err := f.Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := f.Write([]byte("def")); n != 1 || err == nil || kept.String() != "abcd" {
		t.Errorf("%d %v %q", n, err, kept.String())
	}
}

// TestTheLogOfAContainerThatWasStartedForTheRunIsReadUpToNow: it began after the run, and what it says of its start with it.
func TestTheLogOfAContainerThatWasStartedForTheRunIsReadUpToNow(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "docker")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`^logs --since (\S+) --until (\S+) engine\n$`)
	run := time.Now().Add(-time.Hour)
	for name, started := range map[string]time.Time{"before the run": run.Add(-time.Minute), "for the run": run.Add(time.Minute)} {
		s := &Capture{container: &container{tool, "engine"}, described: rundir.Container{StartedAt: started}, manifest: &rundir.Manifest{StartedAt: run}}
		var out strings.Builder
		there, err := s.startLog(t.Context(), &out)
		match := asked.FindStringSubmatch(out.String())
		if !there || err != nil || match == nil {
			t.Fatalf("%s: %v, %v, asked %q", name, there, err, out.String())
		}
		since, _ := time.Parse(time.RFC3339Nano, match[1])
		until, _ := time.Parse(time.RFC3339Nano, match[2])
		if !since.Equal(started) || !until.After(since) || name == "before the run" && !until.Equal(run) {
			t.Errorf("%s: asked from %v to %v", name, since, until)
		}
	}
}
