// Package native is the install without containers: units, a Debian package, an archive. It has no code; its tests hold
// the files to the programs that they start and to each other. That they work where they belong is proven by
// .ci/proofs/native/machine, in a machine with systemd.
package native_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/loadgen"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// setting is the last value of a key in a unit or a file of variables, "" if it has none.
func setting(text, key string) (value string) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			value = rest
		}
	}
	return value
}

// arguments are those of a unit's program, with what the file of variables gives for $ARGS.
func arguments(t *testing.T, unit, variables string) []string {
	t.Helper()
	words := strings.Fields(setting(read(t, unit), "ExecStart"))
	if len(words) < 2 || words[len(words)-1] != "$ARGS" {
		t.Fatalf("%s starts %q", unit, words)
	}
	return append(words[1:len(words)-1], strings.Fields(strings.Trim(variables, `"`))...)
}

// TestProgramsTakeTheFlagsOfUnits: every command line that is shipped, those of the examples too, is understood by its program.
func TestProgramsTakeTheFlagsOfUnits(t *testing.T) {
	example := regexp.MustCompile(`(?m)^#?ARGS="(.*)"$`)
	for _, folder := range []string{".", "user"} {
		for _, name := range []string{"exporter", "results", "run"} {
			lines := example.FindAllStringSubmatch(read(t, name+".env"), -1)
			if len(lines) < 2 {
				t.Fatalf("%s.env: %d lines of ARGS, want a default and an example", name, len(lines))
			}
			for _, line := range lines {
				args := arguments(t, filepath.Join(folder, "uma-"+name+".service"), line[1])
				var output bytes.Buffer
				code := 0
				if name == "exporter" {
					code = exporter.Run(t.Context(), append(args, "--help"), &output, &output)
				} else {
					code = loadgen.Run(t.Context(), append(args, "--help"), &output, &output)
				}
				if code != 0 {
					t.Errorf("%s %q: exit %d: %s", name, args, code, &output)
				}
			}
		}
	}
}

// TestUnitsOfAUserDoWhatThoseOfTheSystemDo holds two files of each service to each other.
func TestUnitsOfAUserDoWhatThoseOfTheSystemDo(t *testing.T) {
	home := strings.NewReplacer("%h/.local/bin/", "/usr/bin/", "%h/.local/state/umascope", "/var/lib/umascope", "%h/.config/umascope", "/etc/umascope")
	for _, name := range []string{"uma-exporter.service", "uma-results.service", "uma-run.service", "uma-view.service"} {
		system, user := read(t, name), read(t, filepath.Join("user", name))
		for _, key := range []string{"ExecStart", "EnvironmentFile", "Type", "Restart", "RestartSec", "RestartPreventExitStatus", "StartLimitIntervalSec", "SuccessExitStatus",
			"KillMode", "KillSignal", "TimeoutStopSec", "TimeoutStartSec", "ConditionPathExists", "NoNewPrivileges", "MemoryMax"} {
			if a, b := setting(system, key), home.Replace(setting(user, key)); a != b {
				t.Errorf("%s: %s is %q for the system and %q for a user", name, key, a, b)
			}
		}
	}
}

// TestTheSandboxLeavesTheDevicesOfGPUs: what closes /dev, or any device of it, leaves the driver's library blind.
// ProtectClock= did, before systemd 252, by allowing the clock and thereby nothing else.
func TestTheSandboxLeavesTheDevicesOfGPUs(t *testing.T) {
	for _, unit := range []string{"uma-exporter.service", "uma-run.service", "user/uma-exporter.service", "user/uma-run.service"} {
		for _, key := range []string{"PrivateDevices", "DevicePolicy", "DeviceAllow", "ProtectClock"} {
			if value := setting(read(t, unit), key); value != "" {
				t.Errorf("%s: %s=%s", unit, key, value)
			}
		}
	}
}

// TestAServiceWhoseAddressComesLaterIsTriedAgain: it ends with 1 then, which systemd must not count.
func TestAServiceWhoseAddressComesLaterIsTriedAgain(t *testing.T) {
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	const nowhere = "--web.listen-address=203.0.113.1:10420" // of no network (RFC 5737)
	for name, service := range map[string]func(stdout, stderr io.Writer) int{
		"uma-exporter.service": func(stdout, stderr io.Writer) int { return exporter.Run(limited, []string{nowhere}, stdout, stderr) },
		"uma-results.service": func(stdout, stderr io.Writer) int {
			return loadgen.Run(limited, []string{"serve", "--runs=" + t.TempDir(), nowhere}, stdout, stderr)
		},
	} {
		var output bytes.Buffer
		code := service(&output, &output)
		for _, unit := range []string{name, "user/" + name} {
			text := read(t, unit)
			if code == 0 || setting(text, "RestartPreventExitStatus") == strconv.Itoa(code) || setting(text, "StartLimitIntervalSec") != "0" || setting(text, "Restart") != "on-failure" {
				t.Errorf("%s: it ends with %d: %s", unit, code, &output)
			}
		}
	}
}

// TestARunThatIsInvalidIsNoFailedUnit: 3 and 4 are results of a run that was made.
func TestARunThatIsInvalidIsNoFailedUnit(t *testing.T) {
	if got := setting(read(t, "uma-run.service"), "SuccessExitStatus"); got != "3 4" {
		t.Errorf("%q", got)
	}
}

// TestSystemdUnderstandsTheUnits asks systemd, where there is one.
func TestSystemdUnderstandsTheUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze")
	}
	// Verify wants the programs to be there.
	dir, bin := t.TempDir(), t.TempDir()
	for _, program := range []string{"uma-exporter", "uma-load", "uma-view"} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	units := []string{"verify", "--man=no"}
	for _, unit := range []string{"uma-exporter.service", "uma-results.service", "uma-run.service", "uma-run.timer", "uma-view.service"} {
		text := strings.ReplaceAll(read(t, unit), "=/usr/bin/", "="+bin+"/")
		if err := os.WriteFile(filepath.Join(dir, unit), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		units = append(units, filepath.Join(dir, unit))
	}
	output, err := exec.Command(analyze, units...).CombinedOutput()
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, "uma-") {
			t.Errorf("%v: %s", err, line)
		}
	}
}

// TestThePackageHasEveryFile: a unit or a setting that is added here is installed by package and archive alike.
func TestThePackageHasEveryFile(t *testing.T) {
	var config struct {
		Contents  []struct{ Src, Dst, Type string }
		Overrides map[string]struct{ Scripts map[string]string }
	}
	if err := yaml.Unmarshal([]byte(read(t, "nfpm.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	packed := slices.Collect(func(yield func(string) bool) {
		for _, c := range config.Contents {
			if strings.HasPrefix(c.Dst, "/etc/") != (c.Type == "config|noreplace") {
				t.Errorf("%s: type %q; what is in /etc, and nothing else, is a setting that an update leaves", c.Dst, c.Type)
			}
			if !yield(c.Src) {
				return
			}
		}
		for _, packager := range config.Overrides {
			for _, path := range packager.Scripts {
				if !yield(path) {
					return
				}
			}
		}
	})
	notPacked := []string{"README.md", "build", "install", "packages_test.go", "native_test.go", "install_test.go", "install.sh", "sign", "install_sh_test.go", "nfpm.yaml", "deb", "rpm", "user"}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	install := read(t, "install")
	for _, entry := range entries {
		name := entry.Name()
		if !slices.Contains(notPacked, name) && !slices.Contains(packed, name) {
			t.Errorf("%s is not in the package", name)
		}
		if example, is := strings.CutSuffix(name, ".conf"); is && !strings.Contains(install, "for example in kernel-log recorder") {
			t.Errorf("%s is not installed as an example by install", example)
		}
		if strings.HasPrefix(name, "uma-") && !strings.Contains(install, name) {
			t.Errorf("%s is not installed by install", name)
		}
	}
	for _, src := range packed {
		if _, err := os.Stat(src); err != nil && !strings.HasPrefix(src, "${STAGE}/") {
			t.Error(err)
		}
	}
}

// TestTheDropInOfTheKernelLogIsOptIn: it adds the flag and what reading that log takes, and is active nowhere until copied.
func TestTheDropInOfTheKernelLogIsOptIn(t *testing.T) {
	text, unit := read(t, "kernel-log.conf"), read(t, "uma-exporter.service")
	want := strings.Replace(setting(unit, "ExecStart"), " $ARGS", " --collector.host.kernel-log $ARGS", 1)
	for key, value := range map[string]string{"ExecStart": want, "AmbientCapabilities": "CAP_SYSLOG", "CapabilityBoundingSet": "CAP_SYSLOG", "ProtectKernelLogs": "no"} {
		if got := setting(text, key); got != value {
			t.Errorf("%s=%s, want %s", key, got, value)
		}
	}
	if !strings.Contains(text, "ExecStart=\nExecStart=") {
		t.Error("a second ExecStart is added, which systemd refuses")
	}
	if !strings.Contains(read(t, "nfpm.yaml"), "share/doc/umascope/examples/kernel-log.conf") {
		t.Error("the package does not install it as an example")
	}
}

// TestTheDropInOfTheRecorderIsOptIn: without it the exporter writes nothing. With it one folder is the service's own, that
// of the flag's default, and the drop-in of the kernel log may stand beside it: systemd takes the last ExecStart=.
func TestTheDropInOfTheRecorderIsOptIn(t *testing.T) {
	text, unit := read(t, "recorder.conf"), read(t, "uma-exporter.service")
	for _, key := range []string{"StateDirectory", "ReadWritePaths", "ExecStop"} {
		if value := setting(unit, key); value != "" || strings.Contains(setting(unit, "ExecStart"), "recorder") {
			t.Errorf("uma-exporter.service: %s=%s, and it starts %s", key, value, setting(unit, "ExecStart"))
		}
	}
	if setting(unit, "ProtectSystem") != "strict" {
		t.Error("uma-exporter.service may write elsewhere")
	}
	words := strings.Fields(setting(text, "ExecStart"))
	var output bytes.Buffer
	if code := exporter.Run(t.Context(), append(append([]string{"serve"}, words[1:len(words)-1]...), "--help"), &output, &output); code != 0 || words[1] != "--recorder" {
		t.Errorf("%q: exit %d: %s", words, code, &output)
	}
	for _, word := range strings.Fields(setting(read(t, "kernel-log.conf"), "ExecStart")) {
		if !slices.Contains(words, word) {
			t.Errorf("beside the drop-in of the kernel log %s is lost", word)
		}
	}
	if folder := "/var/lib/" + setting(text, "StateDirectory"); !strings.Contains(output.String(), folder) {
		t.Errorf("the service may write %s, which is not the default of --recorder.folder:\n%s", folder, &output)
	}
	if !strings.Contains(setting(text, "ExecStop"), `"$STATE_DIRECTORY/system-state"`) || !strings.Contains(text, "ExecStart=\nExecStart=") {
		t.Error("it does not keep what systemd does at its stop, or adds a second ExecStart")
	}
	if !strings.Contains(read(t, "nfpm.yaml"), "share/doc/umascope/examples/recorder.conf") {
		t.Error("the package does not install it as an example")
	}
}
