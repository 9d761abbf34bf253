package hostfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Limits of one reading of the page cache. A larger tree has no figure: that of a part would be wrong.
const (
	maxCacheFiles = 100_000
	maxCacheDepth = 32 // nested directories
)

// ErrCacheHidden is wrapped where the kernel hides how much of a file is cached: it shows it to the owner of the file,
// to users who may write it and to processes with CAP_FOWNER, since otherwise one program could watch what another one
// reads. It is an fs.ErrPermission.
var ErrCacheHidden = fmt.Errorf("the kernel shows what is cached of a file only to its owner, to users who may write it and with CAP_FOWNER: %w", fs.ErrPermission)

// CacheResident is how much of a file of this machine is in the page cache, in bytes, in whole pages; of a directory
// that of all regular files below it. Links below it are not followed, and directories that other file systems are
// mounted on are left out. A file with several names counts once. Files of a tmpfs count too: the kernel calls them
// shared memory.
//
// Files that go away meanwhile count 0. It is an error if any part cannot be read, if the tree is too large, and if it
// holds only links.
func CacheResident(ctx context.Context, path string) (uint64, error) {
	// A link below path is not followed, but path itself may be a link: the user who named it means its target.
	root, err := openNoWait(unix.AT_FDCWD, path, 0)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	w := cacheWalk{ctx: ctx, maxFiles: maxCacheFiles, seen: map[inode]struct{}{}}
	if err := w.visit(root, path, 0); err != nil {
		return 0, err
	}
	if w.files == 0 && w.links > 0 {
		return 0, fmt.Errorf("%s: holds only links, which are not followed: name what they lead to", path)
	}
	return w.resident, nil
}

// cacheWalk is one reading of a tree.
type cacheWalk struct {
	ctx      context.Context
	maxFiles int
	device   uint64             // of the root
	seen     map[inode]struct{} // files of several names
	files    int
	links    int
	resident uint64
}

type inode struct{ device, number uint64 }

// visit adds the file open as fd, and closes it.
func (w *cacheWalk) visit(fd int, path string, depth int) error {
	var stat unix.Stat_t
	err := unix.Fstat(fd, &stat)
	if err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		directory := os.NewFile(uintptr(fd), path)
		defer directory.Close()
		return w.addDirectory(directory, path, &stat, depth)
	}
	defer unix.Close(fd)
	switch {
	case err != nil:
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	case stat.Mode&unix.S_IFMT == unix.S_IFREG:
		return w.addFile(fd, path, &stat)
	case depth == 0:
		return fmt.Errorf("%s: neither a regular file nor a directory", path)
	}
	return nil
}

func (w *cacheWalk) addFile(fd int, path string, stat *unix.Stat_t) error {
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w after %d files", path, err, w.files)
	}
	if w.files++; w.files > w.maxFiles {
		return fmt.Errorf("%s: more than %d files", path, w.maxFiles)
	}
	if stat.Nlink > 1 {
		name := inode{stat.Dev, stat.Ino}
		if _, again := w.seen[name]; again {
			return nil
		}
		w.seen[name] = struct{}{}
	}
	bytes, err := cachedBytes(w.ctx, fd, stat)
	if err != nil {
		return &fs.PathError{Op: "page cache", Path: path, Err: err}
	}
	w.resident += bytes
	return nil
}

// addDirectory walks a directory in the order of the file system.
func (w *cacheWalk) addDirectory(directory *os.File, path string, stat *unix.Stat_t, depth int) error {
	switch {
	case depth == 0:
		w.device = stat.Dev
	case stat.Dev != w.device:
		return nil
	case depth > maxCacheDepth:
		return fmt.Errorf("%s: deeper than %d directories", path, maxCacheDepth)
	}
	const atOnce = 256
	for {
		entries, err := directory.ReadDir(atOnce)
		for _, entry := range entries {
			if err := w.addEntry(int(directory.Fd()), path, entry, depth); err != nil {
				return err
			}
		}
		if len(entries) == 0 || err != nil {
			return endOf(err)
		}
	}
}

// addEntry opens only regular files and directories: opening a device has side effects.
func (w *cacheWalk) addEntry(directory int, path string, entry fs.DirEntry, depth int) error {
	switch {
	case entry.Type()&fs.ModeSymlink != 0:
		w.links++
		return nil
	case !entry.IsDir() && !entry.Type().IsRegular():
		return nil
	}
	name := filepath.Join(path, entry.Name())
	fd, err := openNoWait(directory, entry.Name(), unix.O_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP): // it went away, or became a link
		return nil
	case err != nil:
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return w.visit(fd, name, depth+1)
}

func openNoWait(directory int, name string, more int) (int, error) {
	return untilUninterrupted(func() (int, error) {
		return unix.Openat(directory, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY|more, 0)
	})
}
