package hostfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	sparseBytes = 1 << 30
	cachedPart  = 64 << 10
	// cachedMost allows for file systems that cache more than was written, such as a tmpfs with huge pages.
	cachedMost = 4 << 20
)

// sparseFile is a file of 1 GiB without a page in the cache.
func sparseFile(t *testing.T, directory string) *os.File {
	t.Helper()
	file, err := os.CreateTemp(directory, "weights")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(file.Name()); file.Close() })
	if err := file.Truncate(sparseBytes); err != nil {
		t.Fatal(err)
	}
	return file
}

// holdInCache writes 64 KiB into the middle of the file and locks them, so that nothing can take them
// out of the cache while the test runs.
func holdInCache(t *testing.T, file *os.File) (release func()) {
	t.Helper()
	const middle = sparseBytes / 2
	if _, err := file.WriteAt(make([]byte, cachedPart), middle); err != nil {
		t.Fatal(err)
	}
	mapping, err := unix.Mmap(int(file.Fd()), middle, cachedPart, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mlock(mapping); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Munmap(mapping); err != nil {
			t.Fatal(err)
		}
	}
}

func resident(t *testing.T, path string) uint64 {
	t.Helper()
	bytes, err := CacheResident(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func TestOnlyWhatIsCachedOfAFileCounts(t *testing.T) {
	file := sparseFile(t, t.TempDir())
	if bytes := resident(t, file.Name()); bytes != 0 {
		t.Errorf("%d bytes of a file that nobody has read", bytes)
	}
	release := holdInCache(t, file)
	if bytes := resident(t, file.Name()); bytes < cachedPart || bytes > cachedMost {
		t.Errorf("%d bytes, of which %d are held", bytes, cachedPart)
	}
	release()
	// Cutting the file throws its pages away for certain, which advice to the kernel does not.
	if err := errors.Join(file.Truncate(0), file.Truncate(sparseBytes)); err != nil {
		t.Fatal(err)
	}
	if bytes := resident(t, file.Name()); bytes != 0 {
		t.Errorf("%d bytes of a file whose content is gone", bytes)
	}
}

func TestBothWaysOfAskingAgree(t *testing.T) {
	file := sparseFile(t, t.TempDir())
	defer holdInCache(t, file)()
	var stat unix.Stat_t
	var mount unix.Statfs_t
	if err := errors.Join(unix.Fstat(int(file.Fd()), &stat), unix.Fstatfs(int(file.Fd()), &mount)); err != nil {
		t.Fatal(err)
	}
	old, err := mincoreBytes(t.Context(), int(file.Fd()), &stat)
	if err != nil || old < cachedPart || old > cachedMost {
		t.Errorf("mincore: %d bytes, %v", old, err)
	}
	bytes, err := cachestatBytes(t.Context(), int(file.Fd()), stat.Size)
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), int64(mount.Type) == unix.OVERLAYFS_SUPER_MAGIC:
		// This kernel cannot be asked that way, or not here; mincore has been.
	case err != nil || bytes != old:
		t.Errorf("cachestat: %d bytes, %v; mincore %d", bytes, err, old)
	}
}

func TestATreeIsTheSumOfItsFilesEachOnce(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "model", "shards")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	file, outside := sparseFile(t, deep), sparseFile(t, t.TempDir())
	defer holdInCache(t, file)()
	defer holdInCache(t, outside)()
	one := resident(t, file.Name())
	err := errors.Join(
		os.Link(file.Name(), filepath.Join(root, "second name")),
		os.Symlink(outside.Name(), filepath.Join(root, "link")),
		os.Symlink(root, filepath.Join(root, "loop")),
		unix.Mkfifo(filepath.Join(root, "pipe"), 0o600), // opened as a file is, it would block for ever
	)
	if err != nil {
		t.Fatal(err)
	}
	if bytes := resident(t, root); bytes != one {
		t.Errorf("the tree has %d bytes, its file %d", bytes, one)
	}
	if bytes := resident(t, filepath.Join(root, "link")); bytes < cachedPart {
		t.Errorf("%d bytes behind a link that was named", bytes)
	}
}

func TestWhatHasNoFigureIsAnErrorThatSaysWhy(t *testing.T) {
	root := t.TempDir()
	links, deep, many := filepath.Join(root, "links"), filepath.Join(root, "deep"), filepath.Join(root, "many")
	err := errors.Join(
		os.MkdirAll(links, 0o755), os.Symlink("/nowhere", filepath.Join(links, "blob")),
		os.MkdirAll(filepath.Join(deep, strings.Repeat("d/", maxCacheDepth+1)), 0o755),
		os.MkdirAll(many, 0o755), os.WriteFile(filepath.Join(many, "a"), nil, 0o644), os.WriteFile(filepath.Join(many, "b"), nil, 0o644),
		unix.Mkfifo(filepath.Join(root, "pipe"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		links: "only links", deep: "deeper than", filepath.Join(root, "pipe"): "neither a regular file nor a directory",
		filepath.Join(root, "none"): "no such file",
	} {
		if bytes, err := CacheResident(t.Context(), path); err == nil || !strings.Contains(err.Error(), why) || bytes != 0 {
			t.Errorf("%s: %d bytes, %v", path, bytes, err)
		}
	}
	if _, err := CacheResident(t.Context(), filepath.Join(root, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that leads nowhere: %v", err)
	}
	few := cacheWalk{ctx: t.Context(), maxFiles: 1, seen: map[inode]struct{}{}}
	fd, err := openNoWait(unix.AT_FDCWD, many, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := few.visit(fd, many, 0); err == nil || !strings.Contains(err.Error(), "more than 1 files") {
		t.Errorf("two files where one is the most: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := CacheResident(ended, many); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %v", err)
	}
}

// TestACacheThatMayNotBeKnownIsNotAFullOne runs as a user who neither owns the file nor may write it: mincore reports
// every page as cached to such users.
func TestACacheThatMayNotBeKnownIsNotAFullOne(t *testing.T) {
	file := sparseFile(t, os.TempDir()) // directories of a test are open to its user only
	defer holdInCache(t, file)()
	path := file.Name()
	if err := file.Chmod(0o644); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		path = "/etc/passwd" // which is not the user's who runs this
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		becomeNobody(t)
		fd, err := openNoWait(unix.AT_FDCWD, path, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(fd)
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			t.Error(err)
		}
		bytes, err := mincoreBytes(t.Context(), fd, &stat)
		if !errors.Is(err, ErrCacheHidden) || !errors.Is(err, fs.ErrPermission) || bytes != 0 {
			t.Errorf("mincore: %d bytes, %v", bytes, err)
		}
		// Kernels before 6.14 let every user call cachestat; then its answer is right.
		bytes, err = CacheResident(t.Context(), path)
		if !errors.Is(err, ErrCacheHidden) && (err != nil || bytes > cachedMost) {
			t.Errorf("%d bytes, %v", bytes, err)
		}
	}()
	<-done
}

// becomeNobody makes the thread of this goroutine, which ends with it, that of a user without any rights. Nothing
// is done to a process that has none.
func becomeNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65533
	runtime.LockOSThread() // and never unlocked, so that no other goroutine gets this thread
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
		t.Error(errno)
	}
}

func TestWhoMayWriteAFileMayKnowItsCache(t *testing.T) {
	file := sparseFile(t, os.TempDir())
	if err := file.Chmod(0o666); err != nil {
		t.Fatal(err)
	}
	defer holdInCache(t, file)()
	done := make(chan struct{})
	go func() {
		defer close(done)
		becomeNobody(t)
		bytes, err := CacheResident(t.Context(), file.Name())
		if err != nil || bytes < cachedPart || bytes > cachedMost {
			t.Errorf("%d bytes, %v", bytes, err)
		}
	}()
	<-done
}
