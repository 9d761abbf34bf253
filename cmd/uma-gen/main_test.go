package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// uma-gen --help | head
func TestOutputWhoseReaderStopsEndsWithoutAMessage(t *testing.T) {
	program := filepath.Join(t.TempDir(), "uma-gen")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	var messages strings.Builder
	c := exec.CommandContext(t.Context(), program, "--help")
	c.Stdout, c.Stderr = write, &messages
	if err := c.Run(); err != nil || messages.Len() > 0 {
		t.Errorf("%v: %s", err, messages.String())
	}
}
