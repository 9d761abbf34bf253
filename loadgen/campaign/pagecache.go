package campaign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
)

// control is the file that drops all clean pages of the page cache.
const control = "/proc/sys/vm/drop_caches"

// DropCachesCommand is the command that sudo must allow for the policy drop.
const DropCachesCommand = "/usr/bin/tee " + control

// TreatPageCache applies the page cache policy of a plan. keep, and an empty policy, change nothing. evict reduces what
// one arm has read of the memory that the next one finds free.
func TreatPageCache(ctx context.Context, p plan.PageCache) (rundir.PageCache, error) {
	began := time.Now()
	facts := rundir.PageCache{Policy: p.Policy}
	var err error
	switch p.Policy {
	case "", "keep":
	case "evict":
		err = evict(ctx, p.Paths, &facts)
	case "drop":
		err = drop(ctx, control, os.Geteuid() == 0)
	default:
		err = fmt.Errorf("page_cache: policy %q is none of keep, evict, drop", p.Policy)
	}
	facts.Seconds = time.Since(began).Seconds()
	return facts, err
}

// drop drops the page cache of the whole machine, with dentries and inodes. It first syncs, since dirty pages cannot
// be dropped.
func drop(ctx context.Context, path string, root bool) error {
	unix.Sync()
	const all = "3\n"
	if root {
		return os.WriteFile(path, []byte(all), 0)
	}
	c := exec.CommandContext(ctx, "sudo", "-n", strings.Fields(DropCachesCommand)[0], path)
	c.Stdin, c.WaitDelay = strings.NewReader(all), time.Second
	var complaint strings.Builder
	c.Stderr = &complaint
	if err := c.Run(); err != nil {
		return fmt.Errorf("page_cache: drop: sudo -n %s %s: %w: %s", c.Args[2], path, err, strings.TrimSpace(complaint.String()))
	}
	return nil
}

// evict evicts the files at the paths and below them from the page cache, and measures them before and after.
func evict(ctx context.Context, paths []string, facts *rundir.PageCache) error {
	if len(paths) == 0 {
		return errors.New("page_cache: evict: no paths")
	}
	var before, after uint64
	known := true
	err := walk(ctx, paths, func(path string, size int64) {
		file, err := os.Open(path)
		if err != nil {
			facts.Unread++
			return
		}
		defer file.Close()
		facts.Files, facts.Bytes = facts.Files+1, facts.Bytes+uint64(size)
		was, err1 := resident(file, size)
		err2 := forget(file)
		is, err3 := resident(file, size)
		if err2 != nil {
			facts.Unread++
		}
		known = known && err1 == nil && err3 == nil
		before, after = before+was, after+is
	})
	if known && facts.Files > 0 {
		facts.BeforeBytes, facts.AfterBytes = &before, &after
	}
	return err
}

// forget evicts the pages of a file. Dirty pages have to be written first; pages that a process has mapped stay.
func forget(file *os.File) error {
	if err := unix.Fdatasync(int(file.Fd())); err != nil {
		return err
	}
	return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// inode identifies a file with any number of names.
type inode struct{ device, number uint64 }

// walk calls visit once for every regular file at the paths and below them. It follows links to files, since model
// caches are full of them, but not links to folders below a path.
func walk(ctx context.Context, paths []string, visit func(path string, size int64)) error {
	seen := map[inode]bool{}
	for _, path := range paths {
		root, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("page_cache: %s: %w", path, err)
		}
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil && path == root {
				return fmt.Errorf("page_cache: %w", err)
			}
			if err != nil { // the folder is not readable, or was removed meanwhile
				return nil
			}
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				return nil
			}
			if !seen[inodeOf(info)] {
				seen[inodeOf(info)] = true
				visit(path, info.Size())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func inodeOf(info fs.FileInfo) inode {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{uint64(stat.Dev), stat.Ino}
}

// errNotShown is the error for a file whose pages the kernel shows only to users who may write it.
var errNotShown = errors.New("the kernel does not show what of it is in memory")

// resident returns how many bytes of a file are in memory, in whole pages.
func resident(file *os.File, size int64) (uint64, error) {
	if size == 0 {
		return 0, nil
	}
	var stat unix.Cachestat_t
	err := unix.Cachestat(uint(file.Fd()), &unix.CachestatRange{}, &stat, 0)
	switch {
	case err == nil:
		return stat.Cache * uint64(os.Getpagesize()), nil
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP): // before Linux 6.5, and for huge pages
		return mincore(file, size)
	}
	return 0, errNotShown
}

// window is how much is mapped at once, in bytes.
const window = 1 << 30

// mincore uses mincore(2), which older kernels have. For a user without write access to the file the kernel reports
// that all of it is in memory, which is not usable.
func mincore(file *os.File, size int64) (uint64, error) {
	if unix.Faccessat(unix.AT_FDCWD, file.Name(), unix.W_OK, unix.AT_EACCESS) != nil {
		return 0, errNotShown
	}
	page := int64(os.Getpagesize())
	var pages uint64
	for at := int64(0); at < size; at += window {
		length := min(window, size-at)
		mapped, err := unix.Mmap(int(file.Fd()), at, int(length), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return 0, err
		}
		answer := make([]byte, (length+page-1)/page)
		// The unix package does not have this call.
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(length), uintptr(unsafe.Pointer(&answer[0])))
		if err := unix.Munmap(mapped); err != nil || errno != 0 {
			return 0, errors.Join(err, errnoError(errno))
		}
		for _, one := range answer {
			pages += uint64(one & 1)
		}
	}
	return pages * uint64(page), nil
}

func errnoError(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}
