package exporter_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWhatIsNoFileIsNeitherWaitedForNorReadWithoutEnd puts the same wrong thing in the place of every
// file of a host but one: proc/meminfo, without which the command does not begin.
func TestWhatIsNoFileIsNeitherWaitedForNorReadWithoutEnd(t *testing.T) {
	const endless = 1 << 40 // bytes, of which none is stored
	for name, replace := range map[string]func(path string) error{
		"pipe that nobody writes": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device that never ends":  func(path string) error { return os.Symlink("/dev/zero", path) },
		"terminal":                func(path string) error { return os.Symlink("/dev/tty", path) },
		"link to itself":          func(path string) error { return os.Symlink(path, path) },
		"directory":               func(path string) error { return os.Mkdir(path, 0o700) },
		"file of a tebibyte": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, endless))
		},
		"nothing, as if it were gone": func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			root := unpack(t, "gb10-load")
			replaced := 0
			err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || !entry.Type().IsRegular() || entry.Name() == "nvml.jsonl" || strings.HasSuffix(path, "proc/meminfo") {
					return err
				}
				replaced++
				if err := os.Remove(path); err != nil {
					return err
				}
				return replace(path)
			})
			if err != nil || replaced < 20 {
				t.Fatalf("%d files replaced: %v", replaced, err)
			}
			code, stdout, stderr := run(t, "--once", "--collect.timeout=1h", "--nvml.replay="+filepath.Join(root, "nvml.jsonl"), // no deadline: a busy machine may be slow
				"--path.procfs="+filepath.Join(root, "proc"), "--path.sysfs="+filepath.Join(root, "sys"), "--path.cgroupfs="+filepath.Join(root, "sys/fs/cgroup"))
			if code != 0 {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			wantIn(t, stdout, `uma_collector_state{collector="gpu",state="ok"} 1`, `uma_memory_ledger_bytes{line="free"} `, `uma_collector_state{collector="nvme",state="`)
			wantNotIn(t, stderr, "deadline", "panic")
		})
	}
}
