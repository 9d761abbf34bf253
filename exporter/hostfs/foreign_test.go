package hostfs

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// place makes a directory as the root of another process, with a secret next to it.
func place(t *testing.T) (root string) {
	t.Helper()
	outside := t.TempDir()
	root = filepath.Join(outside, "root")
	for name, content := range map[string]string{"secret": "hunter2", "root/etc/cufile.json": "{}", "root/etc/secret": "the container's own"} {
		path := filepath.Join(outside, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func readInRoot(root, name string) (string, error) {
	fd, err := openInRoot(root, name)
	if err != nil {
		return "", err
	}
	file, err := newForeignFile(name, fd)
	if err != nil {
		return "", err
	}
	defer file.close()
	content, err := file.readAt(0, 100)
	return string(content), err
}

func TestNoNameLeadsOutOfAForeignRoot(t *testing.T) {
	root := place(t)
	for name, target := range map[string]string{
		"up": "../secret", "far-up": "../../../../../../../../../../secret", "absolute": filepath.Join(filepath.Dir(root), "secret"),
		"etc/up": "../../secret", "directory": filepath.Dir(root),
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"/up", "/far-up", "/absolute", "/etc/up", "/directory/secret", "/../secret", "/etc/../../secret"} {
		if content, err := readInRoot(root, name); err == nil {
			t.Errorf("%s: read %q", name, content)
		}
	}
}

func TestLinksWithinAForeignRootAreFollowed(t *testing.T) {
	root := place(t)
	// As update-alternatives makes them, absolute, next to a directory that is a link.
	for name, target := range map[string]string{
		"etc/alternatives": "/etc/alt", "etc/default.json": "/etc/alternatives/cufile.json", "etc/alt/cufile.json": "../cufile.json",
		"etc/round": "round", "etc/long0": "long1", "etc/long1": "long2", "etc/long2": "long3", "etc/long3": "long4", "etc/long4": "long5",
		"etc/long5": "long6", "etc/long6": "long7", "etc/long7": "cufile.json",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Join(root, "etc/alt"), 0o755), os.Symlink(target, path)); err != nil {
			t.Fatal(err)
		}
	}
	if content, err := readInRoot(root, "/etc/default.json"); content != "{}" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
	for _, name := range []string{"/etc/round", "/etc/long0"} {
		if content, err := readInRoot(root, name); !errors.Is(err, unix.ELOOP) {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}

func TestLinksOfProcfsAreNotFollowed(t *testing.T) {
	proc, pid := Dir{Path: "/proc"}, uint32(os.Getpid())
	file := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.WriteFile(file, []byte("x"), 0o600), os.Symlink("/proc/self/exe", file+".link")); err != nil {
		t.Fatal(err)
	}
	if content, err := ReadForeign(proc, pid, file); string(content) != "x" || err != nil {
		t.Fatalf("an ordinary file: %q, %v", content, err)
	}
	for _, name := range []string{"/proc/self/root" + file, "/proc/self/exe", "/proc/self/cwd/foreign_test.go", file + ".link"} {
		if content, err := ReadForeign(proc, pid, name); !errors.Is(err, unix.ELOOP) {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
	}
}

func TestOnlyRegularForeignFilesOfModestSizeAreRead(t *testing.T) {
	proc, pid, dir := Dir{Path: "/proc"}, uint32(os.Getpid()), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(unix.Mkfifo(at("pipe"), 0o600), os.WriteFile(at("whole"), bytes.Repeat([]byte("x"), maxForeignBytes), 0o600),
		os.WriteFile(at("huge"), nil, 0o600), os.Truncate(at("huge"), maxForeignBytes+1)); err != nil {
		t.Fatal(err)
	}
	if content, err := ReadForeign(proc, pid, at("whole")); err != nil || len(content) != maxForeignBytes {
		t.Errorf("whole: %d bytes, %v", len(content), err)
	}
	if _, err := ReadForeign(proc, pid, at("huge")); !errors.Is(err, ErrTooLong) {
		t.Errorf("huge: %v", err)
	}
	for _, name := range []string{at("pipe"), "/dev/zero", "/dev/null", dir, at("none"), "relative", "", "/a\x00b"} { // a pipe must not be waited for
		if content, err := ReadForeign(proc, pid, name); err == nil {
			t.Errorf("%q: %d bytes", name, len(content))
		}
	}
	if _, err := ReadForeign(proc, pid, at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not there: %v", err)
	}
}

func TestForeignFilesOfARecordingAreThoseOfItsTree(t *testing.T) {
	recording := files(t, map[string]string{"900/root/etc/cufile.json": "{}", "901/root/etc/cufile.json": "[]"})
	for name, want := range map[string]string{"/etc/cufile.json": "{}", "/etc/../etc/cufile.json": "{}", "/../../901/root/etc/cufile.json": ""} {
		if content, err := ReadForeign(recording, 900, name); string(content) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}

// known is what a reader says that has got so far in one log and knows no other.
func (p LogPosition) known(file string) (uint64, bool) { return p.Offset, file == p.File }

func TestALogIsReadOnceAndByWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cufile.log")
	proc, pid := Dir{Path: "/proc"}, uint32(os.Getpid())
	var at LogPosition
	follow := func(want string) {
		t.Helper()
		lines, now, err := FollowForeign(proc, pid, path, at.known)
		if err != nil || lines != want {
			t.Errorf("got %.80q (%d), %v, want %.80q", lines, len(lines), err, want)
		}
		at = now
	}
	write := func(flag int, text string) {
		t.Helper()
		file, err := os.OpenFile(path, flag|os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString(text)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := FollowForeign(proc, pid, path, at.known); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before there is one: %v", err)
	}
	write(0, "one\ntw")
	follow("one\n")
	follow("")
	write(os.O_APPEND, "o\nthree\n")
	follow("two\nthree\n")
	write(os.O_TRUNC, "four\n")
	follow("four\n")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	// A new file can get the number of the old one; the log that grows again then looks like the old one cut.
	write(0, "5\n")
	follow("5\n")
}

func TestOfALongLogTheEndIsReadFirstAndThenInTurn(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	whole := strings.Repeat(line, 2*maxForeignBytes/len(line))
	recording := files(t, map[string]string{"9/root/log": whole})
	lines, now, err := FollowForeign(recording, 9, "/log", LogPosition{}.known)
	if err != nil || len(lines) > maxForeignBytes || len(lines) < maxForeignBytes-2*len(line) || !strings.HasPrefix(lines, line) || now.Offset != uint64(len(whole)) {
		t.Errorf("%d bytes, %+v, %v", len(lines), now, err)
	}
	read := 0
	for at := (LogPosition{File: now.File}); at.Offset < uint64(len(whole)); {
		lines, next, err := FollowForeign(recording, 9, "/log", at.known)
		if err != nil || next.Offset <= at.Offset || len(lines) > maxForeignBytes {
			t.Fatalf("%d bytes, %+v after %+v, %v", len(lines), next, at, err)
		}
		read, at = read+len(lines), next
	}
	if read != len(whole) {
		t.Errorf("%d of %d bytes", read, len(whole))
	}
	endless := strings.Repeat("x", maxForeignBytes+5)
	fromTheBeginning := func(string) (uint64, bool) { return 0, true }
	if lines, now, err := FollowForeign(files(t, map[string]string{"9/root/log": endless}), 9, "/log", fromTheBeginning); lines != "" || now.Offset != maxForeignBytes || err != nil {
		t.Errorf("a line without end: %d bytes, %+v, %v", len(lines), now, err)
	}
}

func TestWorkingDirectoryIsThatUnderTheProcesssRoot(t *testing.T) {
	for _, test := range []struct{ root, cwd, want string }{
		{"/", "/workspace", "/workspace"}, {"/", "/", "/"}, {"/srv/chroot", "/srv/chroot/work", "/work"}, {"/srv/chroot", "/srv/chroot", "/"},
		{"/srv/chroot", "/srv/chroot2/work", "/srv/chroot2/work"},
	} {
		fsys := onDisk(t, fstest.MapFS{"9/root": link(test.root), "9/cwd": link(test.cwd)})
		if got, err := ForeignWorkingDirectory(fsys, 9); got != test.want || err != nil {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
	if _, err := ForeignWorkingDirectory(files(t, nil), 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
}

func TestOfAnEnvironmentOnlyTheListedVariablesAreKept(t *testing.T) {
	text := "API_KEY=hunter2\x00CUFILE_ENV_PATH_JSON=/etc/my.json\x00HF_TOKEN=hunter2\x00DYN_KVBM_CPU_CACHE_GB=20\x00" +
		"CUFILE_ENV_PATH_JSON_TOKEN=hunter2\x00CUFILE_ENV_PATH_JSON=/second\x00CUFILE_LOGFILE_PATH\x00=hunter2\x00DYN_KVBM_DISK_CACHE_DIR=/cut"
	got, err := ReadEnviron(files(t, map[string]string{"9/environ": text}), 9)
	want := map[string]string{"CUFILE_ENV_PATH_JSON": "/etc/my.json", "DYN_KVBM_CPU_CACHE_GB": "20"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if own, err := ReadEnviron(Dir{Path: "/proc"}, uint32(os.Getpid())); err != nil || len(own) > len(EnvironVariables()) {
		t.Errorf("%v, %v", own, err)
	}
}

func FuzzEnviron(f *testing.F) {
	addSeeds(f, "API_KEY=hunter2\x00CUFILE_LOGFILE_PATH=/var/log/cufile.log\x00", "CUFILE_LOGFILE_PATH=\x00CUFILE_LOGFILE_PATH=x\x00")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		whole := parseEnviron(text)
		for name, value := range whole {
			if !strings.Contains(text, name+"="+value+"\x00") {
				t.Errorf("%s is %q", name, value)
			}
		}
		for name, value := range parseEnviron(text[:min(int(cut), len(text))]) {
			if whole[name] != value {
				t.Errorf("%s of a part is %q, of the whole %q", name, value, whole[name])
			}
		}
		if len(whole) > len(EnvironVariables()) {
			t.Errorf("%v", whole)
		}
	})
}

func FuzzWholeLines(f *testing.F) {
	f.Add("one\ntwo\nthr", true)
	f.Add("", false)
	f.Fuzz(func(t *testing.T, piece string, within bool) {
		lines, read := wholeLines(piece, within)
		if read > len(piece) || lines != "" && !strings.HasSuffix(lines, "\n") || !strings.HasSuffix(piece[:read], lines) {
			t.Errorf("%q of %q, %d read", lines, piece, read)
		}
		if rest := piece[read:]; strings.Contains(rest, "\n") {
			t.Errorf("%q is left", rest)
		}
	})
}

const sampleMaps = `55d0c0000000-55d0c0001000 r--p 00000000 103:02 1234                       /usr/bin/python3.12
7f2b1c000000-7f2b1c2f0000 r-xp 00000000 103:02 9961475                    /opt/my env/libcufile.so.1.15.1
7f2b1d000000-7f2b1d2f0000 rw-p 00000000 00:00 0 
7ffd1d000000-7ffd1d2f0000 rw-p 00000000 00:00 0                          [stack]
`

func TestALibraryIsFoundAmongTheMappings(t *testing.T) {
	for text, want := range map[string]bool{
		sampleMaps: true, strings.ReplaceAll(sampleMaps, "libcufile.so.1.15.1", "libcufile_rdma.so.1"): false,
		strings.ReplaceAll(sampleMaps, "/opt/my env/libcufile.so.1.15.1", "/opt/libcufile.so.0/notes"): false,
		strings.ReplaceAll(sampleMaps, "1.15.1", "0 (deleted)"):                                        true, "": false,
		"7f2b1c000000-7f2b1c2f0000 rw-p 00000000 00:00 0 [anon:libcufile.so]\n": false,
	} {
		if got, err := MappedLibraries(files(t, map[string]string{"9/maps": text}), 9, "libcufile.so"); got["libcufile.so"] != want || err != nil {
			t.Errorf("%v, %v, want %v in %q", got, err, want, text)
		}
	}
	if got, err := MappedLibraries(files(t, map[string]string{"9/maps": sampleMaps}), 9, "libcufile.so", "python3", "libc.so"); err != nil || !maps.Equal(got, map[string]bool{"libcufile.so": true, "python3": true}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := MappedLibraries(files(t, nil), 9, "libcufile.so"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
}

func TestOfVeryManyMappingsOneThatIsNotFoundMayBeThere(t *testing.T) {
	text := strings.Repeat("7f2b1d000000-7f2b1d2f0000 rw-p 00000000 00:00 0 \n", maxMapsBytes/40)
	proc := files(t, map[string]string{"9/maps": text, "8/maps": sampleMaps + text})
	if got, err := MappedLibraries(proc, 9, "libcufile.so"); !errors.Is(err, ErrTooLong) || got["libcufile.so"] {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := MappedLibraries(proc, 8, "libcufile.so"); err != nil || !got["libcufile.so"] {
		t.Errorf("%v, %v", got, err)
	}
}

func TestThisProgramIsAmongItsOwnMappings(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(executable)
	if got, err := MappedLibraries(Dir{Path: "/proc"}, uint32(os.Getpid()), name, "libcufile.so"); !got[name] || got["libcufile.so"] || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestALongFileIsReadPieceByPieceUpToItsBound(t *testing.T) {
	line := strings.Repeat("x", 4000) + "\n"
	dir := files(t, map[string]string{"maps": strings.Repeat(line, 100)})
	lines := 0
	count := func(got string) bool {
		if got+"\n" != line {
			t.Fatalf("line of %d", len(got))
		}
		lines++
		return true
	}
	if whole, err := dir.scanLines("maps", 1<<20, count); !whole || err != nil || lines != 100 {
		t.Errorf("%d lines, whole %v, %v", lines, whole, err)
	}
	lines = 0
	if whole, err := dir.scanLines("maps", 200000, count); whole || err != nil || lines < 45 || lines > 70 {
		t.Errorf("%d lines, whole %v, %v", lines, whole, err)
	}
	if whole, err := dir.scanLines("maps", 1<<20, func(string) bool { return false }); !whole || err != nil {
		t.Errorf("enough: whole %v, %v", whole, err)
	}
	if _, err := dir.scanLines("../maps", 1, count); err == nil {
		t.Error("a name that leads out is read")
	}
}

func FuzzMappedFile(f *testing.F) {
	for line := range strings.Lines(sampleMaps) {
		f.Add(strings.TrimSuffix(line, "\n"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		if file := mappedFile(line); file != "" && (!strings.HasPrefix(file, "/") || !strings.HasSuffix(line, " "+file)) {
			t.Errorf("%q of %q", file, line)
		}
	})
}
