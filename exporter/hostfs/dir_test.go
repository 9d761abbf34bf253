package hostfs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDirFollowsLinks(t *testing.T) {
	root := written(t, map[string]string{"meminfo": sampleMeminfo, "pressure/cpu": samplePressure, "sys/kernel/arch": "aarch64\n"})
	if err := os.Symlink("pressure", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	dir := Dir{Path: root}
	if content, err := dir.ReadFile("link/cpu"); err != nil || string(content) != samplePressure {
		t.Errorf("through a link: %q, %v", content, err)
	}
}

func TestDirReadsFilesOfAnyLengthUpToItsBound(t *testing.T) {
	for _, length := range []int{0, 1, firstReadBytes - 1, firstReadBytes, firstReadBytes + 1, 5 * firstReadBytes, maxFileBytes} {
		want := bytes.Repeat([]byte{'x'}, length)
		root := written(t, map[string]string{"file": string(want)})
		if got, err := (Dir{Path: root}).ReadFile("file"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", length, len(got), err)
		}
	}
	root := written(t, map[string]string{"file": strings.Repeat("x", maxFileBytes+1)})
	if got, err := (Dir{Path: root}).ReadFile("file"); err == nil || got != nil {
		t.Errorf("beyond the bound: %d bytes, %v", len(got), err)
	}
}

func TestDirRefusesWhatIsNoRegularFile(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(root, "zero")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "zero", "."} { // a reader that waits would never get past the pipe
		if content, err := (Dir{Path: root}).ReadFile(name); err == nil {
			t.Errorf("%s: read %d bytes", name, len(content))
		}
	}
}

func TestDirRefusesNamesThatLeadOut(t *testing.T) {
	root := Dir{Path: t.TempDir()}
	for _, name := range []string{"../etc/passwd", "/etc/passwd", "a/../../b", ""} {
		_, readErr := root.ReadFile(name)
		_, statErr := root.Stat(name)
		_, listErr := root.ReadDir(name)
		_, linkErr := root.ReadLink(name)
		for _, err := range []error{readErr, statErr, listErr, linkErr} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

func TestErrorsNameTheWholePath(t *testing.T) {
	root := written(t, map[string]string{"vmstat": "pgfault 1\npgmajfault many\n"})
	if _, err := ReadMeminfo(Dir{Path: root}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(root, "meminfo")) {
		t.Errorf("missing file: %v", err)
	}
	want := filepath.Join(root, "vmstat") + `: line 2: malformed: "pgmajfault many"`
	if _, err := ReadVmstat(Dir{Path: root}); err == nil || err.Error() != want {
		t.Errorf("malformed file: %v, want %s", err, want)
	}
}

func TestTheRunningKernelCanBeRead(t *testing.T) {
	proc := Dir{Path: "/proc"}
	meminfo := must(t, ReadMeminfo, proc)
	if meminfo["MemFree"] == 0 || meminfo["MemFree"] > meminfo["MemTotal"] {
		t.Errorf("%d bytes free of %d", meminfo["MemFree"], meminfo["MemTotal"])
	}
	must(t, ReadVmstat, proc)
	must(t, ReadDiskstats, proc)
	if comm, err := Comm(proc, uint32(os.Getpid())); err != nil || comm == "" {
		t.Errorf("own name %q, %v", comm, err)
	}
	if _, err := HostPIDNamespace(proc); err != nil {
		t.Error(err)
	}
}

func TestProcfsIsToldFromACopyOfOne(t *testing.T) {
	link := filepath.Join(t.TempDir(), "proc")
	if err := os.Symlink("/proc", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/proc": true, "/proc/self": true, link: true, t.TempDir(): false, link + "/none": false} {
		if got := IsProcfs(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
