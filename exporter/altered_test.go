package exporter

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/hostfs"
)

// The hosts of these tests have their files in folders of their own, which the tests change.

// onDisk is a directory with these files and links.
func onDisk(t testing.TB, files fstest.MapFS) hostfs.Dir {
	t.Helper()
	root := t.TempDir()
	must(t, os.CopyFS(root, files))
	return hostfs.Dir{Path: root}
}

// put writes a file of a host.
func put(t testing.TB, dir hostfs.Dir, name string, content []byte) {
	t.Helper()
	path := filepath.Join(dir.Path, name)
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)))
}

// relink makes a link of a host lead elsewhere.
func relink(t testing.TB, dir hostfs.Dir, name, target string) {
	t.Helper()
	path := filepath.Join(dir.Path, name)
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(path), os.Symlink(target, path)))
}

// remove removes a file or directory of a host.
func remove(t testing.TB, dir hostfs.Dir, name string) {
	t.Helper()
	must(t, os.RemoveAll(filepath.Join(dir.Path, name)))
}

// edit changes a file of a host, if it has it.
func edit(t testing.TB, dir hostfs.Dir, name string, change func([]byte) []byte) {
	t.Helper()
	content, err := dir.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	must(t, err)
	put(t, dir, name, change(content))
}

// editAll changes the files of a host.
func editAll(t testing.TB, dir hostfs.Dir, change func(name string, content []byte) []byte) {
	t.Helper()
	must(t, fs.WalkDir(os.DirFS(dir.Path), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() > 1<<20 {
			return err // a file of an engine, of which a recording has only the size
		}
		content, err := os.ReadFile(filepath.Join(dir.Path, name))
		if err != nil {
			return err
		}
		if changed := change(name, content); !bytes.Equal(changed, content) {
			put(t, dir, name, changed)
		}
		return nil
	}))
}

// childVariable marks a test process that was started without the capabilities to read what its user may not.
const childVariable = "UMASCOPE_TEST_WITHOUT_DAC"

// withoutCapabilities reports whether the kernel refuses this process files without permission. If it does not, the test
// is run again in a child for which it does, and the result is false.
func withoutCapabilities(t *testing.T) bool {
	t.Helper()
	refused := !hostfs.HasCapability(unix.CAP_DAC_OVERRIDE) && !hostfs.HasCapability(unix.CAP_DAC_READ_SEARCH)
	if refused || os.Getenv(childVariable) != "" {
		if !refused {
			t.Fatal("the child has the capabilities of its parent")
		}
		return true
	}
	var output []byte
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread without the capabilities must not serve other goroutines
		for _, capability := range []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
				ended <- err
				return
			}
		}
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), childVariable+"=1")
		var err error
		output, err = child.CombinedOutput()
		ended <- err
	}()
	if err := <-ended; err != nil || !bytes.Contains(output, []byte("--- PASS: "+t.Name())) {
		t.Errorf("in a process without capabilities: %v\n%s", err, output)
	}
	return false
}
