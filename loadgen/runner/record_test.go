package runner

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/rundir"
)

func TestTheLivePageTellsThePhaseOfTheCommand(t *testing.T) {
	ready, leave := filepath.Join(t.TempDir(), "ready"), filepath.Join(t.TempDir(), "leave")
	r, _ := recordingOf(t, &bytes.Buffer{}, "trtllm",
		script(t, "echo '[I] Setting up for warmup...'; touch "+ready+"; while [ ! -e "+leave+" ]; do sleep 0.02; done"))
	done := make(chan error, 1)
	go func() {
		_, err := r.make(t.Context())
		done <- err
	}()
	var page string
	for range 1000 {
		if response, err := http.Get(r.env.Page.URL()); err == nil {
			text, readErr := io.ReadAll(response.Body)
			if page = string(text); readErr != nil || response.Body.Close() != nil {
				t.Fatal(readErr)
			}
		}
		if strings.Contains(page, `phase="warmup",run="r1"} 1`) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !strings.Contains(page, `phase="warmup",run="r1"} 1`) || !strings.Contains(page, `phase="load",run="r1"} 0`) || !strings.Contains(page, `scenario="record"} 1`) {
		t.Errorf("%s", page)
	}
	if err := os.WriteFile(leave, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// recordingOf is a recording of a program, in a folder of its own.
func recordingOf(t *testing.T, stdout io.Writer, tool, program string) (r *recording, out string) {
	t.Helper()
	reads, err := enginelog.Find(supported.Engines(), tool)
	if err != nil {
		t.Fatal(err)
	}
	keep, env := surroundings(t)
	env.Stdout, env.Stderr = stdout, io.Discard
	return newRecording(keep, Command{Argv: []string{program}, Tool: reads, Grace: time.Minute}, env), keep.Out
}

// script writes a program for the shell.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "benchmark")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFullDiskFailsTheRunAndNotTheCommand(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "end")
	var printed bytes.Buffer
	r, out := recordingOf(t, &printed, enginelog.None, script(t, "echo hello; sleep 0.1; touch "+marker))
	// What the command prints goes to a full disk; everything else finds room.
	r.openLog = func(_ rundir.Folder, _ string, most int64) (*rundir.Log, error) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		return rundir.LogTo(full, most), err
	}
	_, err := r.make(t.Context())
	if _, statErr := os.Stat(marker); statErr != nil || err == nil || !strings.Contains(err.Error(), "no space left") || printed.Len() == 0 {
		t.Errorf("%v, %v: %s", err, statErr, printed.String())
	}
	if m := read[rundir.Manifest](t, filepath.Join(out, "r1", rundir.ManifestFile)); m.State != rundir.StateFailed || *m.Command.ExitCode != 0 {
		t.Errorf("%+v", m)
	}
}
