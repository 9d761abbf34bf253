package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// target is the root of a machine that the package is installed in, whose programs of Debian and systemd write down what
// they are asked.
type target struct {
	t               *testing.T
	root, path, log string
}

func newTarget(t *testing.T) target {
	t.Helper()
	m := target{t: t, root: t.TempDir(), path: t.TempDir()}
	m.log = filepath.Join(m.path, "asked")
	m.mkdir("run/systemd/system")
	for _, program := range []string{"deb-systemd-helper", "deb-systemd-invoke", "systemctl", "systemd-sysusers", "systemd-tmpfiles"} {
		must(t, os.WriteFile(filepath.Join(m.path, program), []byte("#!/bin/sh\necho "+program+" \"$@\" >>"+m.log+"\n"), 0o755))
	}
	return m
}

func (m target) mkdir(path string) {
	m.t.Helper()
	must(m.t, os.MkdirAll(filepath.Join(m.root, path), 0o755))
}

// run runs a script of deb/ or rpm/ as dpkg and rpm do. It returns the output and what programs were asked.
func (m target) run(script string, args ...string) (output, asked string) {
	m.t.Helper()
	c := exec.Command("sh", append([]string{script}, args...)...)
	c.Env = []string{"PATH=" + m.path + ":" + os.Getenv("PATH"), "DPKG_ROOT=" + m.root}
	text, err := c.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s %v: %v: %s", script, args, err, text)
	}
	asks, _ := os.ReadFile(m.log)
	return string(text), string(asks)
}

func TestThePackageEnablesAndStartsTheExporterOnly(t *testing.T) {
	_, asked := newTarget(t).run("deb/postinst", "configure")
	var active []string
	for line := range strings.Lines(asked) {
		if words := strings.Fields(line); len(words) > 1 && (words[1] == "enable" || words[1] == "start") {
			active = append(active, strings.Join(words[1:], " "))
		}
	}
	if got := strings.Join(active, ", "); got != "enable uma-exporter.service, start uma-exporter.service" {
		t.Errorf("%s; asked:\n%s", got, asked)
	}
}

func TestTheRpmEnablesAndStartsTheExporterOnly(t *testing.T) {
	for versions, want := range map[string]string{"1": "enable uma-exporter.service", "2": ""} { // an install and an update
		_, asked := newTarget(t).run("rpm/post", versions)
		var enabled []string
		for line := range strings.Lines(asked) {
			switch words := strings.Fields(line); {
			case len(words) > 1 && words[1] == "enable":
				enabled = append(enabled, strings.Join(words[1:], " "))
			case len(words) > 1 && words[1] == "start" && line != "systemctl start uma-exporter.service\n":
				t.Errorf("%s starts more than the exporter", line)
			}
		}
		if got := strings.Join(enabled, ", "); got != want {
			t.Errorf("%s versions: %q, want %q; asked:\n%s", versions, got, want, asked)
		}
		if !strings.Contains(asked, "systemd-sysusers umascope.conf\nsystemd-tmpfiles --create umascope.conf\n") {
			t.Errorf("no user and folders: %s", asked)
		}
	}
	if _, asked := newTarget(t).run("rpm/preun", "1"); asked != "" {
		t.Errorf("an update disables or stops: %s", asked)
	}
	if _, asked := newTarget(t).run("rpm/preun", "0"); !strings.HasPrefix(asked, "systemctl disable uma-run.timer uma-view.service uma-results.service uma-exporter.service\n") {
		t.Errorf("a removal: %s", asked)
	}
}

func TestPurgeKeepsRunsAndSamplesAndPrintsWhere(t *testing.T) {
	m := newTarget(t)
	kept := []string{"var/lib/umascope/runs/r1/summary.json", "var/lib/umascope/view/wal/00000001"}
	for _, file := range kept {
		m.mkdir(filepath.Dir(file))
		must(t, os.WriteFile(filepath.Join(m.root, file), []byte("measured"), 0o644))
	}
	m.mkdir("etc/umascope")
	if output, _ := m.run("deb/postrm", "remove"); output != "" {
		t.Errorf("remove: %s", output)
	}
	output, _ := m.run("deb/postrm", "purge")
	if strings.Count(output, "\n") != 1 || !strings.Contains(output, m.root+"/var/lib/umascope") {
		t.Errorf("purge prints %q, want one line with the folder", output)
	}
	for _, file := range kept {
		if _, err := os.Stat(filepath.Join(m.root, file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(m.root, "etc/umascope")); err == nil {
		t.Error("the empty folder of settings stays")
	}
}

func TestPurgeLeavesNoEmptyFolders(t *testing.T) {
	m := newTarget(t)
	m.mkdir("var/lib/umascope/runs")
	m.mkdir("var/lib/umascope/view")
	if output, _ := m.run("deb/postrm", "purge"); output != "" {
		t.Errorf("purge prints %q", output)
	}
	if _, err := os.Stat(filepath.Join(m.root, "var/lib/umascope")); err == nil {
		t.Error("/var/lib/umascope stays")
	}
	m.run("deb/postrm", "purge") // after it
}
