package arm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// fakeDriver puts an nvidia-smi and a sudo first on the path. It returns what nvidia-smi was asked, in order, and whether by sudo.
// Its answer to an option is what a file of that name in the returned folder does, as a script.
func fakeDriver(t *testing.T) (folder string, asked func() string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range map[string]string{
		"nvidia-smi": `echo "$AS$1" >> %[1]s/asked; o=${1%%=*}; if [ -f "%[1]s/$o" ]; then . "%[1]s/$o"; fi`,
		"sudo":       `[ "$1" = -n ] || exit 1; shift; if [ "$1" = -l ]; then [ ! -f %[1]s/refused ]; exit; fi; AS="sudo " exec "$@"`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, "#!/bin/sh\n"+text+"\n", folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	return folder, func() string { return read(t, filepath.Join(folder, "asked")) }
}

// locked is an arm with nothing but clocks.
func locked() plan.Arm { return plan.Arm{Name: "a", Clocks: &plan.Clocks{Lock: 1500e6}} }

const lockedAndReset = "--lock-gpu-clocks=1500,1500\n--reset-gpu-clocks\n"

func TestClocksAreLockedWhileAnArmIsUp(t *testing.T) {
	for _, root := range []bool{true, false} {
		_, asked := fakeDriver(t)
		k := newKeeper(t.TempDir(), testLog(t))
		k.root = root
		r, err := k.up(t.Context(), locked())
		if err != nil {
			t.Fatal(err)
		}
		if r.State().LockedClock != 1500e6 {
			t.Errorf("%+v", r.State())
		}
		cut, cancel := context.WithCancel(t.Context())
		cancel() // an interrupt that wants it to be quick
		for range 2 {
			if err := r.Down(cut); err != nil {
				t.Error(err)
			}
		}
		want := lockedAndReset
		if !root {
			want = "sudo --lock-gpu-clocks=1500,1500\nsudo --reset-gpu-clocks\n"
		}
		if got := asked(); got != want || r.State().LockedClock != 0 {
			t.Errorf("root %t: asked %q", root, got)
		}
	}
}

func TestClocksAreResetWhateverEndsTheArm(t *testing.T) {
	asRoot := func(dir string) *keeper {
		k := newKeeper(dir, testLog(t))
		k.root = true
		return k
	}
	for name, end := range map[string]func(dir string, r *Running) error{
		"another invocation": func(dir string, r *Running) error {
			k := asRoot(dir)
			if err := k.open(t.Context()); err != nil {
				return err
			}
			defer k.close()
			return k.down(t.Context(), nil)
		},
		"its guardian": func(dir string, r *Running) error {
			stopped, err := asRoot(dir).stopOrphan(t.Context(), guarded{Dir: dir, Token: r.State().Token})
			if !stopped {
				t.Error("it was not stopped")
			}
			return err
		},
	} {
		_, asked := fakeDriver(t)
		dir := t.TempDir()
		r, err := asRoot(dir).up(t.Context(), locked())
		if err != nil {
			t.Fatal(err)
		}
		r.Leave() // as a process that is killed does
		if err := end(dir, r); err != nil || asked() != lockedAndReset {
			t.Errorf("%s: asked %q (%v)", name, asked(), err)
		}
	}
	_, asked := fakeDriver(t)
	spec := locked()
	spec.Processes = []plan.Process{{Name: "p", Argv: []string{"false"}, Ready: logged("never")}}
	k := asRoot(t.TempDir())
	if _, err := k.up(t.Context(), spec); err == nil || asked() != lockedAndReset {
		t.Errorf("an engine that does not come up: asked %q (%v)", asked(), err)
	}
}

func TestClocksOfABootThatIsOverAreNotReset(t *testing.T) {
	_, asked := fakeDriver(t)
	k := newKeeper(t.TempDir(), testLog(t))
	k.root = true
	r, err := k.up(t.Context(), locked())
	if err != nil {
		t.Fatal(err)
	}
	if err := k.note(func(s *State) { s.BootID = "before" }); err != nil {
		t.Fatal(err)
	}
	if err := r.Down(t.Context()); err != nil || strings.Contains(asked(), "reset") {
		t.Errorf("asked %q (%v)", asked(), err)
	}
}

func TestAnArmDoesNotComeUpWhereClocksCannotBeLocked(t *testing.T) {
	for says, script := range map[string]string{
		"The current user does not have permission": "echo The current user does not have permission to change clocks; exit 4",
		"the driver does not set them":              "echo Setting locked GPU clocks is not supported for GPU 0.; echo Treating as warning and moving on.",
	} {
		folder, asked := fakeDriver(t)
		if err := os.WriteFile(filepath.Join(folder, "--lock-gpu-clocks"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		k := newKeeper(t.TempDir(), testLog(t))
		k.root = true
		_, err := k.up(t.Context(), locked())
		if err == nil || !strings.Contains(err.Error(), "clocks.lock: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
		if got := asked(); got != lockedAndReset || k.state.DownAt == nil {
			t.Errorf("asked %q, down %v", got, k.state.DownAt)
		}
	}
}

func TestClocksThatCannotBeResetAreNamedWithTheCommand(t *testing.T) {
	folder, _ := fakeDriver(t)
	k := newKeeper(t.TempDir(), testLog(t))
	k.root = true
	r, err := k.up(t.Context(), locked())
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(folder, "--reset-gpu-clocks")
	if err := os.WriteFile(broken, []byte("exit 9"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.Down(t.Context()); err == nil || !strings.Contains(err.Error(), "stay locked to 1500MHz: sudo nvidia-smi --reset-gpu-clocks: ") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	if err := r.Down(t.Context()); err != nil || r.State().LockedClock != 0 {
		t.Errorf("later: %v", err)
	}
}

func TestCheckReportsWhereClocksCannotBeLocked(t *testing.T) {
	folder, asked := fakeDriver(t)
	found := func() Finding {
		c := &checker{keeper: newKeeper("", nil)}
		c.keeper.root = false
		c.check(t.Context(), locked())
		if len(c.findings) != 1 {
			t.Fatalf("%v", c.findings)
		}
		return c.findings[0]
	}
	if f := found(); f.Result != Passes || f.String() != "clocks.lock: 1500MHz by nvidia-smi" {
		t.Errorf("%+v", f)
	}
	if err := os.WriteFile(filepath.Join(folder, "refused"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if f := found(); f.Result != Fails || !strings.Contains(f.String(), "clocks.lock: sudo -n does not run "+folder+"/nvidia-smi --reset-gpu-clocks") {
		t.Errorf("%+v", found())
	}
	if err := os.Remove(filepath.Join(folder, "nvidia-smi")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	if f := found(); f.Result != Fails || !strings.Contains(f.String(), "clocks.lock: ") || !strings.Contains(f.String(), "nvidia-smi") {
		t.Errorf("%+v", found())
	}
	if got := asked(); got != "" {
		t.Errorf("a check has asked %q", got)
	}
}
