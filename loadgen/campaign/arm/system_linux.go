package arm

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// isCgroup2 reports whether a folder is the root of cgroup v2.
func isCgroup2(root string) bool {
	var mounted unix.Statfs_t
	return unix.Statfs(root, &mounted) == nil && mounted.Type == unix.CGROUP2_SUPER_MAGIC
}

// input returns a file in memory, which the program can read even after this process has ended.
func input(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("script", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "script")
	_, err = file.WriteString(text)
	if err == nil {
		_, err = file.Seek(0, 0)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
