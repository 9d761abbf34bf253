package demo

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen"
)

// program is the demo with the load generator that its main hands in.
func program(stdout, stderr io.Writer) Program {
	return Program{Stdout: stdout, Stderr: stderr, Load: loadgen.Run}
}

func TestBadInputIsOneLineAndExit2(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--out", filepath.Join(file, "below")},
		{"--seed", "x"},
		{"--frobnicate"},
		{"stray"},
		{"show", "--web.listen-address", "127.0.0.1:0"}, // without --serve
		{"arm", "native"},
		{"arm", "native", "--stage", "somewhere"},
	} {
		var stdout, stderr bytes.Buffer
		code := program(&stdout, &stderr).Run(t.Context(), args)
		if code != exitInput || strings.Count(stderr.String(), "\n") != 1 || !strings.HasPrefix(stderr.String(), "uma-demo: ") {
			t.Errorf("%v: exit %d, stderr %q", args, code, stderr.String())
		}
	}
}
