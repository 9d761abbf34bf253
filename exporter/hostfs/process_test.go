package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process as Linux 6.18 shows it.
const (
	sampleStat = "735 (python3) R 405 404 404 0 -1 4194560 1431138 0 174 0 2116 673 0 0 20 0 18 0 9933 88293875712 1495858 18446744073709551615 " +
		"4325376 7352253 140721323057680 0 0 0 0 16781318 0 0 0 0 17 4 0 0 0 0 0 10 20 30 40 50 60 70 0\n"
	sampleStatus = "Name:\tpython3\nUmask:\t0022\nState:\tR (running)\nNSpid:\t735\t276\nUid:\t0\t0\t0\t0\nGroups:\t \nVmHWM:\t 5984020 kB\nVmRSS:\t 5984020 kB\n" +
		"RssAnon:\t 3563544 kB\nRssFile:\t  315132 kB\nRssShmem:\t 2105344 kB\nVmSwap:\t     128 kB\nHugetlbPages:\t    2048 kB\nThreads:\t18\n"
	sampleIO = "rchar: 29124481021\nwchar: 41922188213\nsyscr: 214418\nsyscw: 118820\nread_bytes: 13221392384\nwrite_bytes: 41908961280\ncancelled_write_bytes: 4096\n"
)

func TestProcessIsReadFromItsStat(t *testing.T) {
	got, err := ReadProcessStat(files(t, map[string]string{"735/stat": sampleStat}), 735)
	if want := (ProcessStat{Comm: "python3", CPUSeconds: 27.89, Threads: 18, StartTicks: 9933, Parent: 405, Group: 404}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if start := got.StartSeconds(1779442561); start != 1779442660.33 {
		t.Errorf("began at %v", start)
	}
}

func TestAProcessMayCallItselfAnything(t *testing.T) {
	read := textReader(t, "735/stat", ofProcess(ReadProcessStat))
	for _, name := range []string{"a) R 1 2 (b", "", ")", "(", "two\nlines", "tmux: server", "\x1b[31m"} {
		text := strings.Replace(sampleStat, "python3", name, 1)
		if got, err := read(text); err != nil || got.Comm != name || got.StartTicks != 9933 {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
		for at := range len(text) {
			if got, err := read(text[:at]); err == nil {
				t.Errorf("%q cut at %d: %+v", name, at, got)
			}
		}
	}
	for _, text := range []string{"735 python3 R 1\n", "735 )python3( R 1\n", strings.Replace(sampleStat, " 2116 ", " -1 ", 1)} {
		if got, err := read(text); !errors.Is(err, errMalformed) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestMemoryOfAProcessByKind(t *testing.T) {
	got, err := ReadProcessStatus(files(t, map[string]string{"735/status": sampleStatus}), 735)
	if err != nil {
		t.Fatal(err)
	}
	for what, row := range map[string]struct {
		got       *uint64
		kibibytes uint64
	}{
		"anon": {got.Anon, 3563544}, "file": {got.File, 315132}, "shmem": {got.Shmem, 2105344},
		"hugetlb": {got.Hugetlb, 2048}, "swap": {got.Swap, 128},
	} {
		if row.got == nil || *row.got != row.kibibytes*1024 {
			t.Errorf("%s: %v", what, row.got)
		}
	}
	if got.InnerPID != 276 {
		t.Errorf("it calls itself %d", got.InnerPID)
	}
	if zombie, err := parseProcessStatus("Name:\tpython3\nState:\tZ (zombie)\nThreads:\t1\n"); err != nil || zombie != (ProcessStatus{}) {
		t.Errorf("a zombie: %+v, %v", zombie, err)
	}
	for _, text := range []string{"", "RssAnon:\t 1 kB\n", "Name:\tx\nRssAnon:\t 1 MB\n", "Name:\tx\nRssAnon:\t -1 kB\n", "Name:\tx\nNSpid:\t\n", "Name:\tx\nVmSwap:\t 1 kB", "Name:\tx\nRssFile:\t 9007199254740992 kB\n"} {
		if got, err := parseProcessStatus(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestStorageIOOfAProcess(t *testing.T) {
	got, err := ReadProcessIO(files(t, map[string]string{"735/io": sampleIO}), 735)
	if err != nil || got.ReadBytes != 13221392384 || got.WriteBytes != 41908961280 || got.CancelledWriteBytes != 4096 {
		t.Errorf("got %+v, %v", got, err)
	}
	read := textReader(t, "735/io", ofProcess(ReadProcessIO))
	for _, text := range []string{"", "read_bytes: 1\nwrite_bytes: 2\n", "read_bytes: -1\nwrite_bytes: 2\ncancelled_write_bytes: 3\n", sampleIO[:len(sampleIO)-1]} {
		if got, err := read(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestBootTime(t *testing.T) {
	got, err := ReadBootTime(files(t, map[string]string{"stat": "cpu  1 2 3\nintr 5 0 0\nctxt 7\nbtime 1779442561\nprocesses 9\n"}))
	if got != 1779442561 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	read := textReader(t, "stat", ReadBootTime)
	for _, text := range []string{"", "cpu  1\n", "btime \n", "btime 17794", "btime -1\n"} {
		if got, err := read(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestProcessesOfAMachine(t *testing.T) {
	got, err := ListProcesses(files(t, map[string]string{"1/comm": "", "735/comm": "", "meminfo": "", "4294967296/comm": "", "self": ""}))
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []uint32{1, 735}) {
		t.Errorf("%v, %v", got, err)
	}
	proc := files(t, map[string]string{"735/comm": ""})
	if !ProcessExists(proc, 735) || ProcessExists(proc, 73) || !ProcessExists(Dir{Path: "/proc"}, uint32(os.Getpid())) {
		t.Error("a process that is there is not, or the other way round")
	}
	crowd := files(t, nil)
	for pid := range maxProcesses + 1 {
		if err := os.Symlink("1", filepath.Join(crowd.Path, fmt.Sprint(1+pid))); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ListProcesses(crowd); !errors.Is(err, ErrTooLong) || len(got) != maxProcesses {
		t.Errorf("%d, %v", len(got), err)
	}
}

func TestWhetherOthersMayBeLookedIntoIsTried(t *testing.T) {
	if MayInspect(failing(unix.EACCES)) || MayInspect(failing(unix.EPERM)) {
		t.Error("refused, and allowed all the same")
	}
	if !MayInspect(files(t, map[string]string{"1/io": sampleIO})) || !MayInspect(files(t, nil)) {
		t.Error("not refused, and not allowed")
	}
}

func TestAProcessThatEndsWhileItIsReadIsGone(t *testing.T) {
	for _, err := range []error{unix.ENOENT, unix.ESRCH} {
		if _, err := ReadProcessIO(failing(err), 1); !IsGone(err) {
			t.Errorf("%v", err)
		}
	}
	for _, err := range []error{unix.EACCES, unix.EIO, nil} {
		if IsGone(err) {
			t.Errorf("%v", err)
		}
	}
}

// TestThisProcessCanBeRead compares the running kernel's figures of the test itself.
func TestThisProcessCanBeRead(t *testing.T) {
	proc, pid := Dir{Path: "/proc"}, uint32(os.Getpid())
	stat, err := ReadProcessStat(proc, pid)
	if err != nil {
		t.Fatal(err)
	}
	booted, err := ReadBootTime(proc)
	if err != nil {
		t.Fatal(err)
	}
	if now := float64(time.Now().Unix()); stat.StartSeconds(booted) > now+2 || stat.StartSeconds(booted) < now-86400 || stat.Threads == 0 {
		t.Errorf("%+v, booted at %v, now %v", stat, booted, now)
	}
	status, err := ReadProcessStatus(proc, pid)
	if err != nil || status.Anon == nil || *status.Anon == 0 || status.Swap == nil {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := ReadProcessIO(proc, pid); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if all, err := ListProcesses(proc); err != nil || !slices.Contains(all, pid) {
		t.Errorf("%v, %v", all, err)
	}
}

func TestMemoryOfAProcessAgreesWithProcfs(t *testing.T) {
	contents := map[string]string{"735/status": sampleStatus}
	process, err := procOracle(t, contents).Proc(735)
	if err != nil {
		t.Fatal(err)
	}
	status, err := ReadProcessStatus(files(t, contents), 735)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := process.NewStatus()
	if err != nil || *status.Anon != theirs.RssAnon || *status.File != theirs.RssFile || *status.Shmem != theirs.RssShmem ||
		*status.Swap != theirs.VmSwap || *status.Hugetlb != theirs.HugetlbPages {
		t.Errorf("%+v, procfs has %+v, %v", status, theirs, err)
	}
}

func FuzzProcessStat(f *testing.F) {
	read := textReader(f, "735/stat", ofProcess(ReadProcessStat))
	addSeeds(f, sampleStat, strings.Replace(sampleStat, "python3", ") (\n", 1))
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := read(text)
		if err != nil {
			return
		}
		if !(whole.CPUSeconds >= 0) || !strings.Contains(text, "("+whole.Comm+")") {
			t.Errorf("%+v", whole)
		}
		if part, err := read(text[:min(int(cut), len(text))]); err == nil && len(part.Comm) > len(whole.Comm) {
			t.Errorf("a part is called %q, the whole %q", part.Comm, whole.Comm)
		}
	})
}

func FuzzProcessStatus(f *testing.F) {
	addSeeds(f, sampleStatus, "Name:\tx\nRssAnon:\t 1 kB\nRssAnon:\t 2 kB\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := parseProcessStatus(text)
		if err != nil {
			return
		}
		part, partErr := parseProcessStatus(text[:min(int(cut), len(text))])
		for i, field := range []*uint64{whole.Anon, whole.File, whole.Shmem, whole.Hugetlb, whole.Swap} {
			if field != nil && *field/1024 > largestNumber(text) {
				t.Errorf("field %d is %d bytes", i, *field)
			}
			if of := []*uint64{part.Anon, part.File, part.Shmem, part.Hugetlb, part.Swap}[i]; partErr == nil && of != nil && (field == nil || *of != *field) {
				t.Errorf("field %d of a part is %d", i, *of)
			}
		}
	})
}

func FuzzProcessIO(f *testing.F) {
	read := textReader(f, "735/io", ofProcess(ReadProcessIO))
	addSeeds(f, sampleIO, "read_bytes: 1\nread_bytes: 2\nwrite_bytes: 3\ncancelled_write_bytes: 4\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := read(text)
		if err != nil {
			return
		}
		if largest := largestNumber(text); max(whole.ReadBytes, whole.WriteBytes, uint64(whole.CancelledWriteBytes)) > largest {
			t.Errorf("%+v, and the largest number is %d", whole, largest)
		}
		if part, err := read(text[:min(int(cut), len(text))]); err == nil && part != whole {
			t.Errorf("a part gives %+v, the whole %+v", part, whole)
		}
	})
}

func FuzzBootTime(f *testing.F) {
	read := textReader(f, "stat", ReadBootTime)
	addSeeds(f, "cpu  1 2 3\nbtime 1779442561\n", "btime 1\nbtime 2\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole, err := read(text)
		if err != nil {
			return
		}
		if !(whole >= 0) {
			t.Errorf("%v", whole)
		}
		if part, err := read(text[:min(int(cut), len(text))]); err == nil && part != whole && strings.Count(text, "btime") == 1 {
			t.Errorf("a part gives %v, the whole %v", part, whole)
		}
	})
}
