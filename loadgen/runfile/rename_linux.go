package runfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// RenameNew renames a file, and fails with fs.ErrExist if the new name exists. Its error is errors.ErrUnsupported on a
// file system that cannot do this at once.
func RenameNew(from, to string) error { return rename(from, to, unix.RENAME_NOREPLACE) }

// Exchange swaps the names of two files or folders at once. Its errors are those of RenameNew.
func Exchange(one, other string) error { return rename(one, other, unix.RENAME_EXCHANGE) }

func rename(from, to string, flags uint) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
	if errors.Is(err, unix.EINVAL) { // the answer of a file system without support
		return unix.EOPNOTSUPP
	}
	return err
}
