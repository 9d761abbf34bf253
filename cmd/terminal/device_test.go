package terminal

import (
	"bytes"
	"os"
	"syscall"
	"testing"
)

func TestOnlyATerminalIsOne(t *testing.T) {
	open := func(name string) *os.File {
		file, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	for name, c := range map[string]struct {
		stream any
		want   bool
	}{
		"a pseudo-terminal":            {open("/dev/ptmx"), true},
		"/dev/null, which is a device": {open(os.DevNull), false},
		"the pipe of a supervisor":     {writer, false},
		"a buffer":                     {&bytes.Buffer{}, false},
	} {
		if got := Is(c.stream); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestATerminalWithoutASizeIsAVT100(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if columns, lines := Size(null); columns != 80 || lines != 24 {
		t.Errorf("%d x %d", columns, lines)
	}
}
