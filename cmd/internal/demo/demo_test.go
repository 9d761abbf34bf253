package demo

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen"
)

// program is the demo with the load generator that its main hands in.
func program(stdout, stderr io.Writer) Program {
	return Program{Stdout: stdout, Stderr: stderr, Load: loadgen.Run}
}

// show runs the demo with that much load.
func show(t *testing.T, ctx context.Context, out string, load time.Duration) (code int, stdout, stderr string) {
	t.Helper()
	var printed, complained bytes.Buffer
	code = program(&printed, &complained).Run(ctx, []string{"--out", out, "--duration", load.String()})
	return code, printed.String(), complained.String()
}

func TestDemoLeavesAReportAndARunFolderAndSaysWhere(t *testing.T) {
	out := filepath.Join(t.TempDir(), "uma-demo")
	code, stdout, stderr := show(t, t.Context(), out, time.Second)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	page, err := os.ReadFile(filepath.Join(out, reportName))
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"constructed", "live", "simulated engine", sparkHost, host, "<svg", "gpu_process"} {
		if !bytes.Contains(page, []byte(says)) {
			t.Errorf("the report does not say %q", says)
		}
	}
	for _, says := range []string{"mode CONSTRUCTED", "mode live", out, "gpu_process"} {
		if !strings.Contains(stdout, says) {
			t.Errorf("it does not print %q:\n%s", says, stdout)
		}
	}
	folders, err := filepath.Glob(filepath.Join(out, "demo-*", "requests.jsonl"))
	if err != nil || len(folders) != 1 {
		t.Errorf("run folders %v, %v", folders, err)
	}
	expectNobodyListens(t, stdout)
}

// expectNobodyListens knocks at every address that the demo has printed.
func expectNobodyListens(t *testing.T, stdout string) {
	t.Helper()
	addresses := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindAllString(stdout, -1)
	knocked := 0
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if u.Port() == "8000" {
			continue // the real engine of the closing advice
		}
		knocked++
		if connection, err := net.DialTimeout("tcp", u.Host, time.Second); err == nil {
			connection.Close()
			t.Errorf("%s is still served", address)
		}
	}
	if knocked != 3 {
		t.Errorf("%d addresses printed, want those of two exporters and the engine:\n%s", knocked, stdout)
	}
}

func TestInterruptedDemoEndsWithNothingLeftRunning(t *testing.T) {
	out := filepath.Join(t.TempDir(), "uma-demo")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		defer interrupt()
		for ctx.Err() == nil {
			time.Sleep(50 * time.Millisecond)
			if begun, err := filepath.Glob(filepath.Join(out, "demo-*", "manifest.json")); err != nil || len(begun) > 0 {
				return
			}
		}
	}()
	code, stdout, stderr := show(t, ctx, out, 10*time.Minute)
	if code != exitFailed || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if summaries, err := filepath.Glob(filepath.Join(out, "demo-*", "summary.json")); err != nil || len(summaries) != 1 {
		t.Errorf("summaries %v, %v", summaries, err)
	}
	expectNobodyListens(t, stdout)
}

func TestBadInputIsOneLineAndExit2(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--out", filepath.Join(file, "below")},
		{"--duration", "-1s"},
		{"--duration", "soon"},
		{"--seed", "x"},
		{"--frobnicate"},
		{"stray"},
	} {
		var stdout, stderr bytes.Buffer
		code := program(&stdout, &stderr).Run(t.Context(), args)
		if code != exitInput || strings.Count(stderr.String(), "\n") != 1 || !strings.HasPrefix(stderr.String(), "uma-demo: ") {
			t.Errorf("%v: exit %d, stderr %q", args, code, stderr.String())
		}
	}
}
