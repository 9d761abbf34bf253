package rundir

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestLinesAreOnDiskWithinASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines.jsonl")
	synctest.Test(t, func(t *testing.T) {
		f, err := NewLines(path, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		f.Add(map[string]int{"a": 1})
		time.Sleep(time.Second)
		synctest.Wait()
		// As a killed run leaves it: nothing is closed yet.
		if got, err := os.ReadFile(path); err != nil || string(got) != "{\"a\":1}\n" {
			t.Errorf("after a second the file holds %q, %v", got, err)
		}
		f.Add(2)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if got, err := os.ReadFile(path); err != nil || string(got) != "{\"a\":1}\n2\n" {
		t.Errorf("closed, the file holds %q, %v", got, err)
	}
}

func TestAnExistingFileIsNotWrittenTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewLines(path, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("error %v", err)
	}
}

func TestAFullDiskIsReportedOnceAndNothingIsLostSilently(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var reported []error
	f := WriteLines(full, func(err error) { reported = append(reported, err) })
	for i := range 3 {
		f.Add(i)
	}
	err = f.Close()
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "3 lines") || !strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("error %v", err)
	}
	if len(reported) != 1 || !errors.Is(reported[0], syscall.ENOSPC) {
		t.Errorf("reported %v", reported)
	}
}

// A disk that does not answer must not hold up the load.
func TestASlowDiskDoesNotHoldUpWhoAdds(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f := WriteLines(write, func(error) {})
	line := strings.Repeat("x", 1<<10)
	const lines = 2000 // 2 MB; a pipe holds 64 KiB
	for range lines {
		f.Add(line)
	}
	got := make(chan int)
	go func() {
		text, _ := io.ReadAll(read)
		got <- bytes.Count(text, []byte("\n"))
	}()
	err = f.Close()
	if n := <-got; n != lines {
		t.Errorf("%d of %d lines arrived", n, lines)
	}
	if !errors.Is(err, syscall.EINVAL) { // pipes cannot be synced
		t.Errorf("error %v", err)
	}
}
