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
