package rundir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAFolderThatExistsIsAnotherRuns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs")
	made, err := New(out, "a")
	if err != nil || string(made) != filepath.Join(out, "a") {
		t.Fatalf("%q, %v", made, err)
	}
	// A caller that removes what it was given must not get the other run's.
	if again, err := New(out, "a"); !errors.Is(err, fs.ErrExist) || again != "" {
		t.Errorf("%q, %v", again, err)
	}
}

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	f := Folder(t.TempDir())
	if err := f.WriteJSON("a.json", map[string]string{"a": "<b>"}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := f.Write("a.json", func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if text, err := os.ReadFile(f.Path("a.json")); err != nil || string(text) != "{\n  \"a\": \"<b>\"\n}\n" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, err := os.ReadDir(string(f)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestOutputsAreFoundByPhaseAndNumberUpToATornLine(t *testing.T) {
	f := Folder(t.TempDir())
	text := `{"run":"r","phase":"measure","index":1,"output":"one"}` + "\n" +
		`{"run":"r","phase":"warmup","index":1,"output":""}` + "\n" + `{"run":"r","phase":"measure","index":2,"out`
	if err := os.WriteFile(f.Path(OutputsFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	outputs, err := OpenOutputs(f.Path(OutputsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer outputs.Close()
	for key, want := range map[requestKey]*string{{"measure", 1}: new("one"), {"warmup", 1}: new(""), {"measure", 2}: nil} {
		got, err := outputs.Find(key.phase, key.index)
		if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%v: %v, %v", key, got, err)
		}
	}
}

func TestAFolderWithoutOutputsHasNone(t *testing.T) {
	outputs, err := OpenOutputs(filepath.Join(t.TempDir(), OutputsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer outputs.Close()
	if got, err := outputs.Find("measure", 0); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
