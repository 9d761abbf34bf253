package runfile

import "golang.org/x/sys/unix"

// RenameNew renames a file, and fails with fs.ErrExist if the new name exists. Its error is errors.ErrUnsupported on a
// file system that cannot do this at once.
func RenameNew(from, to string) error { return unix.RenamexNp(from, to, unix.RENAME_EXCL) }

// Exchange swaps the names of two files or folders at once. Its errors are those of RenameNew.
func Exchange(one, other string) error { return unix.RenamexNp(one, other, unix.RENAME_SWAP) }
