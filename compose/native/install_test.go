package native_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// archive is an unpacked archive with programs that do nothing, and the home of somebody without systemd.
type archive struct {
	t         *testing.T
	dir, home string
	path      string // where programs are looked for: a systemctl that answers stands in front
}

func newArchive(t *testing.T) archive {
	t.Helper()
	a := archive{t: t, dir: t.TempDir(), home: filepath.Join(t.TempDir(), "home of somebody"), path: t.TempDir()}
	a.write("install", read(t, "install"), 0o755)
	for _, program := range []string{"uma-exporter", "uma-load", "uma-view"} {
		a.write("bin/"+program, "#!/bin/sh\nexit 0\n", 0o755)
		a.write("man/"+program+".1.gz", "", 0o644)
		a.write("completion/"+program+".bash", "", 0o644)
		a.write("completion/"+program+".zsh", "", 0o644)
	}
	for _, unit := range []string{"uma-exporter.service", "uma-results.service", "uma-run.service", "uma-view.service"} {
		a.write("systemd/user/"+unit, read(t, "user/"+unit), 0o644)
	}
	a.write("systemd/user/uma-run.timer", read(t, "uma-run.timer"), 0o644)
	for _, name := range []string{"exporter.env", "results.env", "run.env", "view.env"} {
		a.write("settings/"+name, read(t, name), 0o644)
	}
	a.write("ARCH", "linux/amd64\n", 0o644)
	a.write("GLIBC", "2.34\n", 0o644)
	a.systemctl("exit 0")
	return a
}

func (a archive) write(name, text string, mode os.FileMode) {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		a.t.Fatal(err)
	}
}

// systemctl puts a manager of services there that writes down what it is asked.
func (a archive) systemctl(does string) {
	a.t.Helper()
	text := "#!/bin/sh\necho \"$*\" >>" + a.path + "/asked\n" + does + "\n"
	if err := os.WriteFile(filepath.Join(a.path, "systemctl"), []byte(text), 0o755); err != nil {
		a.t.Fatal(err)
	}
}

func (a archive) install(args ...string) (code int, output string) {
	a.t.Helper()
	c := exec.Command(filepath.Join(a.dir, "install"), args...)
	c.Env = []string{"HOME=" + a.home, "PATH=" + a.path + ":" + os.Getenv("PATH")}
	text, err := c.CombinedOutput()
	if c.ProcessState == nil {
		a.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(text)
}

// files are all that the home has, but folders.
func (a archive) files() (all []string) {
	a.t.Helper()
	err := filepath.WalkDir(a.home, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all = append(all, strings.TrimPrefix(path, a.home+"/"))
		}
		return err
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return all
}

func TestAUserInstallsUpdatesAndUninstallsWithoutRoot(t *testing.T) {
	a := newArchive(t)
	if code, output := a.install("--user"); code != 0 || !strings.Contains(output, "enable-linger") || !strings.Contains(output, "not in PATH") {
		t.Fatalf("exit %d: %s", code, output)
	}
	if all := a.files(); len(all) != 21 {
		t.Errorf("%d files: %q", len(all), all)
	}
	settings := filepath.Join(a.home, ".config/umascope/exporter.env")
	if text := read(t, settings); !strings.Contains(text, "systemctl --user restart uma-exporter") || strings.Contains(text, "/etc/umascope") || strings.Contains(text, "user umascope") {
		t.Errorf("settings speak of the system: %s", text)
	}
	if err := os.WriteFile(settings, []byte("ARGS=mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.write("bin/uma-load", "#!/bin/sh\necho new\n", 0o755)
	if code, output := a.install("--user"); code != 0 {
		t.Fatalf("exit %d: %s", code, output)
	}
	if read(t, settings) != "ARGS=mine\n" || !strings.Contains(read(t, filepath.Join(a.home, ".local/bin/uma-load")), "new") {
		t.Error("an update writes over settings, or leaves programs as they were")
	}
	if code, output := a.install("--user", "--uninstall"); code != 0 || !strings.Contains(output, ".local/state/umascope") {
		t.Errorf("exit %d: %s", code, output)
	}
	if left := strings.Join(a.files(), " "); left != ".config/umascope/exporter.env .config/umascope/results.env .config/umascope/run.env .config/umascope/view.env" {
		t.Errorf("left: %s", left)
	}
	if err := errors.Join(os.RemoveAll(filepath.Dir(settings)), os.RemoveAll(filepath.Join(a.home, ".local/state"))); err != nil {
		t.Fatal(err)
	}
	if code, output := a.install("--user", "--uninstall"); code != 0 || strings.Contains(output, "left") {
		t.Errorf("exit %d, and what is not there is called left: %s", code, output)
	}
	asked := read(t, filepath.Join(a.path, "asked"))
	for _, want := range []string{"--user enable --now uma-exporter.service", "--user try-restart uma-exporter.service uma-results.service uma-view.service", "--user disable --now uma-run.timer"} {
		if !strings.Contains(asked, want) {
			t.Errorf("systemctl is not asked to %s: %s", want, asked)
		}
	}
	if strings.Contains(asked, "enable --now uma-run") || strings.Contains(asked, "enable --now uma-results") || strings.Contains(asked, "enable --now uma-view") {
		t.Errorf("more than the exporter is enabled: %s", asked)
	}
}

func TestWithoutSystemdProgramsAreInstalledWithAWarning(t *testing.T) {
	a := newArchive(t)
	a.systemctl("exit 1")
	if code, output := a.install("--user"); code != 0 || !strings.Contains(output, "no systemd answers here") || strings.Contains(output, "page:") {
		t.Errorf("exit %d: %s", code, output)
	}
}

func TestInstallRefusesInOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		program string
		says    string
	}{
		"an argument that it does not know": {[]string{"--usr"}, "exit 0", "unknown argument --usr"},
		"programs of another machine":       {[]string{"--user"}, "exit 126", "they are for linux/amd64 and need glibc 2.34"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			a.write("bin/uma-exporter", "#!/bin/sh\n"+c.program+"\n", 0o755)
			code, output := a.install(c.args...)
			if code != 2 || !strings.Contains(output, c.says) || strings.Count(output, "\n") != 1 {
				t.Errorf("exit %d: %s", code, output)
			}
			if _, err := os.Stat(a.home); err == nil {
				t.Errorf("it left %q", a.files())
			}
		})
	}
}
