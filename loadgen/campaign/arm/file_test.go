package arm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

func filed(path, text string) plan.Arm {
	return plan.Arm{Name: "a", Files: []plan.File{{Path: path, Text: text, Mode: "600"}}}
}

func TestAFileIsThereWhileTheArmIsUp(t *testing.T) {
	path := in(t, "below", "engine.yaml")
	r := upIn(t, t.TempDir(), filed(path, "a: 1\n"))
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 || read(t, path) != "a: 1\n" {
		t.Fatalf("%v, %v", info, err)
	}
	want := Written{Path: path, SHA256: "b7cb2939c59f5ae09e8d6e27caac3a4d0e93bd6ccf2b5e2af2f6d98b1d0d4e0b", Bytes: 5}
	want.SHA256 = hash([]byte("a: 1\n"))
	if got := r.State().Files; !slices.Equal(got, []Written{want}) || len(want.SHA256) != 64 {
		t.Errorf("%+v", got)
	}
	if err := r.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it is still there")
	}
}

func TestARelativePathIsInTheFolderOfTheArm(t *testing.T) {
	dir := t.TempDir()
	upIn(t, dir, filed("conf/x", "1"))
	if read(t, filepath.Join(dir, "conf", "x")) != "1" {
		t.Error("it is elsewhere")
	}
}

func TestAFileOfSomebodyElseIsNeitherReplacedNorTakenAway(t *testing.T) {
	path := in(t, "engine.yaml")
	if err := os.WriteFile(path, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Up(t.Context(), filed(path, "ours"), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), path+": is there already") {
		t.Errorf("%v", err)
	}
	optional := filed(path, "ours")
	optional.Files[0].Optional = true
	if r := upIn(t, t.TempDir(), optional); len(r.State().Files) > 0 {
		t.Errorf("%+v", r.State().Files)
	}
	r := upIn(t, t.TempDir(), filed(path, "theirs"))
	if !r.State().Files[0].Found {
		t.Error("the same content is taken for ours")
	}
	if err := r.Down(t.Context()); err != nil || read(t, path) != "theirs" {
		t.Errorf("%v, %q", err, read(t, path))
	}
	link := in(t, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Up(t.Context(), filed(link, "ours"), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "no plain file") {
		t.Errorf("%v", err)
	}
}

func TestAFileThatWasChangedMeanwhileIsKeptAside(t *testing.T) {
	dir, path := t.TempDir(), in(t, "engine.yaml")
	r := upIn(t, dir, filed(path, "ours"))
	if err := os.WriteFile(path, []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	aside, err := filepath.Glob(path + ".changed-*")
	if err != nil || len(aside) != 1 || read(t, aside[0]) != "changed" {
		t.Errorf("%v, %v", aside, err)
	}
	upIn(t, dir, filed(path, "ours")) // nothing stands in its way
}

func TestAFileOfAnEarlierPlanIsTakenAwayAfterACrash(t *testing.T) {
	o, _ := orphaned(t)
	if err := Down(t.Context(), plan.Arm{}, o.dir, testLog(t)); err != nil || read(t, o.file) != "" {
		t.Errorf("%v, %q", err, read(t, o.file))
	}
}

func TestAModeIsOctal(t *testing.T) {
	for _, text := range []string{"9", "0x1ff", "1777", "-1"} {
		if _, err := modeOf(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
