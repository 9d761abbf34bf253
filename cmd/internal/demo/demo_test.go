package demo

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/cmd/internal/view"
	"github.com/umascope/umascope/loadgen"
)

// program is the demo with the load generator that its main hands in.
func program(stdout, stderr io.Writer) Program {
	return Program{Stdout: stdout, Stderr: stderr, Load: loadgen.Run, View: view.Run}
}

func TestBadInputIsOneLineAndExit2(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--out", filepath.Join(file, "below")},
		{"--out", ""}, // a variable of the shell that is not set: nobody meant the folder that they are in
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

func TestWhatCannotBeAskedOrOpenedIsSaidWithWhatToDo(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"healthcheck", "--url", "http://127.0.0.1:1"}, exitFailed, "uma-demo simulate"},
		{[]string{"--serve", "--out", t.TempDir(), "--web.listen-address", "here"}, exitInput, "HOST:PORT"},
		{[]string{"--serve", "--out", t.TempDir(), "--web.listen-address", "127.0.0.1:99999"}, exitInput, "HOST:PORT"},
	} {
		var stdout, stderr bytes.Buffer
		code := program(&stdout, &stderr).Run(t.Context(), c.args)
		if code != c.code || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: exit %d, stderr %q", c.args, code, stderr.String())
		}
		if address := strings.TrimPrefix(c.args[len(c.args)-1], "http://"); strings.Count(stderr.String(), address) != 1 {
			t.Errorf("%v: the address is not there once: %q", c.args, stderr.String())
		}
	}
}
