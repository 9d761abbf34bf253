package subprocess

import (
	"os/exec"
	"testing"
)

func TestOutputAboveABoundIsDropped(t *testing.T) {
	kept := Bounded{MostBytes: 4}
	for range 3 {
		if n, err := kept.Write([]byte("xyz")); n != 3 || err != nil {
			t.Errorf("wrote %d bytes (%v)", n, err)
		}
	}
	if kept.Kept.String() != "xyzx" {
		t.Errorf("kept %q", kept.Kept.String())
	}
	// A program's output comes by a pipe, which buffers read from by themselves.
	command := exec.Command("head", "-c", "100000", "/dev/zero")
	read := Bounded{MostBytes: 4}
	if command.Stdout = &read; command.Run() != nil || read.Kept.Len() != 4 {
		t.Errorf("kept %d bytes of a program", read.Kept.Len())
	}
}
