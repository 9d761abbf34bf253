package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

func TestDescriptorsAreListedByWhatTheyLeadTo(t *testing.T) {
	proc := onDisk(t, fstest.MapFS{"6330/fd/3": link("socket:[26411]"), "6330/fd/4": link("/dev/nvidia-fs0"), "6330/fd/5": link("/gone (deleted)")})
	got, err := OpenFiles(proc, 6330)
	want := []OpenFile{{FD: 3, Target: "socket:[26411]"}, {FD: 4, Target: "/dev/nvidia-fs0"}, {FD: 5, Target: "/gone", Deleted: true}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := OpenFiles(proc, 6331); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("process that has ended: %v", err)
	}
	if _, err := OpenFiles(files(t, map[string]string{"1/fd": ""}), 1); err == nil {
		t.Error("a file passes for a table of descriptors")
	}
}

// TestAnUnlinkedFileIsFoundWithSizeAndFlags asks the running kernel about this very process.
func TestAnUnlinkedFileIsFoundWithSizeAndFlags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dynamo-kvbm-disk-cache-Xa91Qz")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := errors.Join(file.Truncate(8192), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	found := own(t, path)
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	device := fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev))
	if len(found) != 1 || found[0].FD != int(file.Fd()) || !found[0].Deleted || *found[0].SizeBytes != 8192 ||
		*found[0].Direct || found[0].Inode != stat.Ino || found[0].Device != device {
		t.Errorf("%+v", found)
	}
}

// own are this process's descriptors of a path.
func own(t *testing.T, path string) []OpenFile {
	t.Helper()
	all, err := OpenFiles(Dir{Path: "/proc"}, uint32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	var found []OpenFile
	for _, file := range all {
		if file.Target == path {
			found = append(found, file)
		}
	}
	return found
}

// TestAPipeIsLookedAtAndNotOpened would wait for a writer otherwise.
func TestAPipeIsLookedAtAndNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if found := own(t, path); len(found) != 1 || found[0].SizeBytes != nil || found[0].Direct != nil {
		t.Errorf("%+v", found)
	}
}

func TestDirectIsToldFromTheNumbersOfBothArchitectures(t *testing.T) {
	tests := []struct {
		name, flags string
		want        bool
	}{
		{"arm64: read and write, close on exec, direct, large", "02600002", true},
		{"arm64 without direct", "02400002", false},
		{"x86-64 with direct", "02140002", true},
		{"x86-64 without direct", "02100002", false},
		{"x86-64, unnamed from the beginning", "022300002", false},
		{"x86-64, unnamed from the beginning, direct", "022340002", true},
		{"arm64, unnamed from the beginning", "022440002", false},
		{"arm64, unnamed from the beginning, direct", "022640002", true},
	}
	for _, test := range tests {
		info, err := parseFDInfo("pos:\t0\nflags:\t" + test.flags + "\nmnt_id:\t31\nino:\t9961475\nlock:\t1: POSIX ADVISORY READ 5 00:00:1 0 EOF\n")
		if err != nil || info.direct() != test.want || info.inode != 9961475 {
			t.Errorf("%s: %+v, direct %v, %v", test.name, info, info.direct(), err)
		}
	}
	for _, text := range []string{"", "pos:\t0\n", "flags:\t9\n", "flags:\t02", "flags:\t02\nino:\tx\n"} {
		if info, err := parseFDInfo(text); err == nil {
			t.Errorf("%q: %+v", text, info)
		}
	}
}

func TestOfVeryManyDescriptorsTheFirstAreListed(t *testing.T) {
	descriptors := fstest.MapFS{}
	for fd := range maxOpenFiles + 1 {
		descriptors[fmt.Sprintf("1/fd/%d", fd)] = link("socket:[1]")
	}
	if got, err := OpenFiles(onDisk(t, descriptors), 1); !errors.Is(err, ErrTooLong) || len(got) != maxOpenFiles {
		t.Errorf("%d, %v", len(got), err)
	}
	delete(descriptors, "1/fd/0")
	if got, err := OpenFiles(onDisk(t, descriptors), 1); err != nil || len(got) != maxOpenFiles {
		t.Errorf("%d, %v", len(got), err)
	}
}

func FuzzFDInfo(f *testing.F) {
	addSeeds(f, "pos:\t0\nflags:\t02600002\nmnt_id:\t31\nino:\t9961475\n", "flags:\t01777777777777777777777\n", "flags:\t0\nflags:\t1\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := parseFDInfo(text)
		if err != nil {
			return
		}
		if !strings.Contains(text, "flags:\t") || whole.inode > largestNumber(text) {
			t.Errorf("%+v", whole)
		}
		part, err := parseFDInfo(text[:min(int(cut), len(text))])
		if err == nil && (part.flags != whole.flags || part.inode != 0 && part.inode != whole.inode) {
			t.Errorf("a part gives %+v, the whole %+v", part, whole)
		}
	})
}
