package rundir

import (
	"os"
	"strings"
	"testing"
)

func TestALogIsCutAtItsLimitAndShowsIt(t *testing.T) {
	f := Folder(t.TempDir())
	l, err := f.NewLog("logs/a.log", 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"abc", "def", "ghi"} {
		if n, err := l.Write([]byte(text)); n != 3 || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}
	if cut, err := l.Close(); !cut || err != nil {
		t.Errorf("%v %v", cut, err)
	}
	text, err := os.ReadFile(f.Path("logs/a.log"))
	if err != nil || !strings.HasPrefix(string(text), "abcde\n[cut off") {
		t.Errorf("%q %v", text, err)
	}
	if _, err := f.NewLog("logs/a.log", 5); err == nil {
		t.Error("a log was written over")
	}
}

func TestALogThatJustFitsIsNotCut(t *testing.T) {
	f := Folder(t.TempDir())
	l, err := f.NewLog("a.log", 3)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = l.Write([]byte("abc"))
	_, _ = l.Write(nil)
	if cut, err := l.Close(); cut || err != nil {
		t.Errorf("%v %v", cut, err)
	}
}

func TestAFullDiskDoesNotStopTheProgramThatWritesALog(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &Log{file: full, left: 100}
	for range 3 {
		if n, err := l.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}
	if _, err := l.Close(); err == nil {
		t.Error("the disk was full and nobody says so")
	}
}
