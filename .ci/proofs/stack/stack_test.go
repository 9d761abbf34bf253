package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBasesAreReadFromDockerfilesAndUnknownOnesAreRefused(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	known := write("a.Dockerfile", "# FROM nothing:1\nFROM --platform=$BUILDPLATFORM golang:1.2.3-bookworm AS build\nFROM scratch\nFROM debian:12.1-slim\n")
	bases, err := basesOf([]string{known})
	if err != nil || len(bases) != 2 || bases["golang:1.2.3-bookworm"] != "golang.tar" || bases["debian:12.1-slim"] != "debian.tar" {
		t.Errorf("%v, %v", bases, err)
	}
	if _, err := basesOf([]string{write("b.Dockerfile", "FROM alpine:3\n")}); err == nil || !strings.Contains(err.Error(), "alpine:3") {
		t.Errorf("error is %v", err)
	}
	if _, err := basesOf(nil); err == nil {
		t.Error("no Dockerfile is taken for one without a base")
	}
}

func TestAddressesOfTheKernelAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:2382":                         "127.0.0.1:9090",
		"00000000:0050":                         "0.0.0.0:80",
		"00000000000000000000000000000000:0BB8": "[::]:3000",
		"00000000000000000000000001000000:0BB8": "[::1]:3000",
		"0000000000000000FFFF00000100007F:0016": "127.0.0.1:22",
	} {
		l, err := parseListener(text)
		if err != nil || l.String() != want {
			t.Errorf("%s is %s, %v, not %s", text, l, err, want)
		}
		if everywhere := strings.HasPrefix(want, "0.0.0.0") || strings.HasPrefix(want, "[::]"); l.everywhere() != everywhere {
			t.Errorf("%s: everywhere is %v", want, l.everywhere())
		}
	}
	for _, text := range []string{"", "0100007F", "0100007F:", "01:1", "zz:1", "0100007F:12345"} {
		if l, err := parseListener(text); err == nil {
			t.Errorf("%q is taken for %s", text, l)
		}
	}
}

// FuzzAddressesOfTheKernel: what is taken for an address is written back as one.
func FuzzAddressesOfTheKernel(f *testing.F) {
	f.Add("0100007F:2382")
	f.Add("00000000000000000000000001000000:0BB8")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseListener(text)
		if err == nil && !strings.Contains(l.String(), ":") {
			t.Errorf("%q is %s", text, l)
		}
	})
}

func TestWhatARestartLosesIsTold(t *testing.T) {
	before := kept{samples: 10, runs: []string{"a", "b"}, starts: 1}
	for name, one := range map[string]struct {
		after   kept
		grafana bool
		wanted  string // in the error, "" for none
	}{
		"nothing":                  {kept{samples: 12, runs: []string{"a", "b", "c"}, starts: 1}, false, ""},
		"nothing of Grafana":       {kept{samples: 10, runs: []string{"a", "b"}, starts: 2}, true, ""},
		"samples":                  {kept{samples: 3, runs: []string{"a", "b"}, starts: 1}, false, "10 samples 3"},
		"a run":                    {kept{samples: 12, runs: []string{"b"}, starts: 1}, false, "run a is gone"},
		"Grafana's data":           {kept{samples: 12, runs: []string{"a", "b"}, starts: 1}, true, "1 starts"},
		"Grafana restarted itself": {kept{samples: 12, runs: []string{"a", "b"}, starts: 2}, false, "2 starts"},
	} {
		err := before.lost(one.after, one.grafana)
		if (err == nil) != (one.wanted == "") || err != nil && !strings.Contains(err.Error(), one.wanted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRoutesAreChangedInTheCopyOnlyWhereTheyAreWhatWasThoughtOf(t *testing.T) {
	c := checkout{folder: t.TempDir()}
	if err := os.Mkdir(c.path("alerts"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.restore(filepath.Join("..", ".."), "alerts", "alertmanager.yml"); err != nil {
		t.Fatal(err)
	}
	note, err := c.tellSimulated("http://192.0.2.1:8080/")
	if err != nil || !strings.Contains(note, `- mode!="live"`) {
		t.Fatalf("%q, %v", note, err)
	}
	text, err := os.ReadFile(c.path("alerts", "alertmanager.yml"))
	if err != nil || strings.Contains(string(text), "url_file") || !strings.Contains(string(text), "url: http://192.0.2.1:8080/") {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := c.tellSimulated("http://192.0.2.1:8080/"); err == nil {
		t.Error("the file is changed twice")
	}
}

func TestRunsOfAPageAreCountedOnce(t *testing.T) {
	const page = `# HELP uma_run_info x
uma_run_info{arm="",host="h",run="b"} 1
uma_run_info{arm="x",host="h",run="a"} 1
uma_run_info{arm="y",host="h",run="a"} 1
uma_run_valid{run="c"} 1
`
	if got := strings.Join(runsOn(page), " "); got != "a b" {
		t.Errorf("runs are %q", got)
	}
}

// TestStandInsHaveWhatTheyNeedToStart: each path once, folders before what is in them, and the loader of a program that
// is not static.
func TestStandInsHaveWhatTheyNeedToStart(t *testing.T) {
	if _, err := os.Stat("/bin/busybox"); err != nil {
		t.Skip("busybox is not installed; prove installs it")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "root.tar")
	s := standIn{programs: map[string]string{"bin/it": filepath.Base(program)}, folders: map[string]owner{"var/lib/it": {472, 0}}}
	if err := s.write(archive, filepath.Dir(program)); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]*tar.Header{}
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(header.Name, "/")
		if seen[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		if above := filepath.Dir(name); above != "." && seen[above] == nil {
			t.Errorf("%s comes before %s", name, above)
		}
		seen[name] = header
	}
	for _, name := range []string{"bin/it", "bin/wget", "bin/busybox", "etc/passwd", "tmp"} {
		if seen[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	if own := seen["var/lib/it"]; own == nil || own.Uid != 472 || own.Gid != 0 {
		t.Errorf("the folder of its data is %+v", own)
	}
}

func TestTheModuleOfAStandInIsFoundAsMainAndAsDependency(t *testing.T) {
	here, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"github.com/umascope/umascope/ci/stack", "github.com/umascope/umascope"} {
		s := standIn{repository: "a/b", programs: map[string]string{"bin/a": filepath.Base(here)}, module: module}
		if version, err := s.version(filepath.Dir(here)); err != nil || !strings.HasPrefix(version, ", module ") {
			t.Errorf("%s: %q, %v", module, version, err)
		}
	}
	other := standIn{repository: "a/b", programs: map[string]string{"bin/a": filepath.Base(here)}, module: "example.com/other"}
	if version, err := other.version(filepath.Dir(here)); err == nil {
		t.Errorf("found in what is not built from it: %q", version)
	}
}
