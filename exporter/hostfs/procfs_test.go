package hostfs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// procfsReaders are the readers that use the library, by file.
func procfsReaders() map[string]func(Dir) error {
	return map[string]func(Dir) error{
		"meminfo": reading(ReadMeminfo), "buddyinfo": reading(ReadBuddyinfo), "diskstats": reading(ReadDiskstats), "stat": reading(ReadBootTime),
		"735/stat": reading(ofProcess(ReadProcessStat)), "735/io": reading(ofProcess(ReadProcessIO)), "735/cgroup": reading(ofProcess(ProcessCgroup)),
	}
}

func TestWhatTheKernelRefusesIsRefusedToTheLibraryToo(t *testing.T) {
	for name, read := range procfsReaders() {
		for _, refusal := range []error{unix.EIO, unix.ENODEV, unix.EACCES, unix.EAGAIN, unix.ESRCH, unix.ENOENT} {
			for _, dir := range []Dir{{Path: "/proc"}, files(t, map[string]string{name: "1\n"})} {
				err := read(failingAt(dir, map[string]error{name: refusal}))
				if !errors.Is(err, refusal) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s of %s: %v, want %v", name, dir.Path, err, refusal)
				}
			}
		}
	}
}

func TestTheLibraryReadsOnlyWholeFilesOfBoundedLength(t *testing.T) {
	for name, read := range procfsReaders() {
		cut := files(t, map[string]string{name: "MemTotal: 1048576"})
		if err := read(cut); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), cut.Path) {
			t.Errorf("%s that was cut off: %v", name, err)
		}
		cut.Temporary = true
		if err := read(cut); err == nil || strings.Contains(err.Error(), cut.Path) {
			t.Errorf("%s of a folder without a meaning: %v", name, err)
		}
		if err := read(files(t, map[string]string{name: strings.Repeat("\n", maxFileBytes+1)})); err == nil || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%s that is too long: %v", name, err)
		}
		pipe := files(t, nil)
		path := filepath.Join(pipe.Path, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), unix.Mkfifo(path, 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := read(pipe); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s that is a pipe: %v", name, err)
		}
	}
}

func TestTheLibrarysErrorsQuoteLittleOfWhatAFileHolds(t *testing.T) {
	for name, read := range procfsReaders() {
		hostile := files(t, map[string]string{name: "\x1b[31m" + strings.Repeat("x", 1<<16) + " ) x (\n"})
		if err := read(hostile); err == nil || len(err.Error()) > 200+len(hostile.Path) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}
