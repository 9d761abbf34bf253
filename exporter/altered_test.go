package exporter

import (
	"io/fs"
	"testing/fstest"
)

// altered is a file system that a test looks at and changes while it is read.
type altered struct {
	fs.FS
	// refuse returns why an operation on a name fails, nil when it succeeds.
	refuse func(name string) error
	// content returns what a file holds instead; nil changes nothing.
	content func(name string, content []byte) []byte
	// over has files and links that replace those of the file system or are added to them.
	over fstest.MapFS
}

// from is where a name is looked for. Directories of over are there only for what is in them.
func (a altered) from(name string) fs.FS {
	if info, err := a.over.Lstat(name); err == nil && !info.IsDir() {
		return a.over
	}
	return a.FS
}

func (a altered) check(operation, name string) error {
	if a.refuse == nil {
		return nil
	}
	if err := a.refuse(name); err != nil {
		return &fs.PathError{Op: operation, Path: name, Err: err}
	}
	return nil
}

func (a altered) Open(name string) (fs.File, error) {
	if err := a.check("open", name); err != nil {
		return nil, err
	}
	return a.from(name).Open(name)
}

func (a altered) ReadFile(name string) ([]byte, error) {
	if err := a.check("read", name); err != nil {
		return nil, err
	}
	content, err := fs.ReadFile(a.from(name), name)
	if err == nil && a.content != nil {
		content = a.content(name, content)
	}
	return content, err
}

func (a altered) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := a.check("readdir", name); err != nil {
		return nil, err
	}
	return fs.ReadDir(a.FS, name)
}

func (a altered) Stat(name string) (fs.FileInfo, error) {
	if err := a.check("stat", name); err != nil {
		return nil, err
	}
	return fs.Stat(a.from(name), name)
}

func (a altered) Lstat(name string) (fs.FileInfo, error) {
	if err := a.check("lstat", name); err != nil {
		return nil, err
	}
	return fs.Lstat(a.from(name), name)
}

func (a altered) ReadLink(name string) (string, error) {
	if err := a.check("readlink", name); err != nil {
		return "", err
	}
	return fs.ReadLink(a.from(name), name)
}
