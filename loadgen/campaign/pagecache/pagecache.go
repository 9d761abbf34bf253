// Package pagecache measures which part of files is in the page cache, and evicts it before an arm starts. Otherwise
// the files that one arm has read reduce the memory that the next one finds free.
package pagecache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Policies, as a plan names them.
const (
	Keep  = "keep"
	Evict = "evict"
	Drop  = "drop"
)

// Result is the result of applying a policy.
type Result struct {
	Policy string `json:"policy"`
	// Files and Bytes count the files that were examined; 0 for keep and drop.
	Files int    `json:"files,omitempty"`
	Bytes uint64 `json:"bytes,omitempty"`
	// BeforeBytes and AfterBytes are how much of the files was in memory. They are absent if the kernel does not show
	// that to a user without write access to the files.
	BeforeBytes *uint64 `json:"resident_before_bytes,omitempty"`
	AfterBytes  *uint64 `json:"resident_after_bytes,omitempty"`
	// Unread counts the files that could not be opened, and so were not evicted.
	Unread  int     `json:"unread,omitempty"`
	Seconds float64 `json:"seconds"`
}

// control is the file that drops all clean pages of the page cache.
const control = "/proc/sys/vm/drop_caches"

// SudoCommand is the command that sudo must allow for the policy drop.
const SudoCommand = "/usr/bin/tee " + control

// Apply applies the plan's page cache policy. keep, and an empty policy, change nothing.
func Apply(ctx context.Context, p plan.PageCache) (Result, error) {
	began := time.Now()
	result, err := apply(ctx, p)
	result.Seconds = time.Since(began).Seconds()
	return result, err
}

func apply(ctx context.Context, p plan.PageCache) (Result, error) {
	switch p.Policy {
	case "", Keep:
		return Result{Policy: Keep}, nil
	case Evict:
		return evict(ctx, p.Paths)
	case Drop:
		return Result{Policy: Drop}, drop(ctx, control, os.Geteuid() == 0)
	}
	return Result{}, fmt.Errorf("page_cache: policy %q is none of keep, evict, drop", p.Policy)
}

// drop drops the page cache of the whole machine, with dentries and inodes. It first syncs, since dirty pages cannot
// be dropped.
func drop(ctx context.Context, path string, root bool) error {
	unix.Sync()
	const all = "3\n"
	if root {
		return os.WriteFile(path, []byte(all), 0)
	}
	c := exec.CommandContext(ctx, "sudo", "-n", strings.Fields(SudoCommand)[0], path)
	c.Stdin, c.WaitDelay = strings.NewReader(all), time.Second
	var complaint strings.Builder
	c.Stderr = &complaint
	if err := c.Run(); err != nil {
		return fmt.Errorf("page_cache: drop: sudo -n %s %s: %w: %s", c.Args[2], path, err, strings.TrimSpace(complaint.String()))
	}
	return nil
}

// evict evicts the files at the paths and below them from the page cache.
func evict(ctx context.Context, paths []string) (Result, error) {
	result := Result{Policy: Evict}
	if len(paths) == 0 {
		return result, errors.New("page_cache: evict: no paths")
	}
	var before, after uint64
	known := true
	err := walk(ctx, paths, func(path string, size int64) {
		file, err := os.Open(path)
		if err != nil {
			result.Unread++
			return
		}
		defer file.Close()
		result.Files, result.Bytes = result.Files+1, result.Bytes+uint64(size)
		was, err1 := resident(file, size)
		err2 := forget(file)
		is, err3 := resident(file, size)
		if err2 != nil {
			result.Unread++
		}
		known = known && err1 == nil && err3 == nil
		before, after = before+was, after+is
	})
	if known && result.Files > 0 {
		result.BeforeBytes, result.AfterBytes = &before, &after
	}
	return result, err
}

// forget evicts the pages of a file. Dirty pages have to be written first; pages that a process has mapped stay.
func forget(file *os.File) error {
	if err := unix.Fdatasync(int(file.Fd())); err != nil {
		return err
	}
	return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// Resident returns how many bytes of the files at the paths and below them are in memory, and their total size.
// inMemory is nil if the kernel does not show it.
func Resident(ctx context.Context, paths []string) (inMemory *uint64, size uint64, err error) {
	var sum uint64
	known := true
	err = walk(ctx, paths, func(path string, bytes int64) {
		file, err := os.Open(path)
		if err != nil {
			known = false
			return
		}
		defer file.Close()
		one, err := resident(file, bytes)
		known = known && err == nil
		sum, size = sum+one, size+uint64(bytes)
	})
	if !known || err != nil {
		return nil, size, err
	}
	return &sum, size, nil
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
			if !seen[identify(info)] {
				seen[identify(info)] = true
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
