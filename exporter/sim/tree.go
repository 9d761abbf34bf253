package sim

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// node is a file, a directory or a link of procfs, sysfs or the cgroup tree. It is separate from package snapshot's
// tree because files here are generated on read, and because the target of every link is decided when the link is made.
type node struct {
	name     string
	text     func() string    // of a file
	children map[string]*node // of a directory
	target   string           // of a link, as its text
	end      *node            // of a link, where it leads; nil for nowhere
	size     int64            // of a file that is only described
}

func newDirectory(name string) *node { return &node{name: name, children: map[string]*node{}} }

// at finds a directory, making it and those above it. The path must not lead through links.
func (n *node) at(name string) *node {
	for part := range strings.SplitSeq(name, "/") {
		next := n.children[part]
		if next == nil {
			next = newDirectory(part)
			n.children[part] = next
		}
		n = next
	}
	return n
}

// file puts a file into a directory, made if there is none.
func (n *node) file(name string, text func() string) {
	directory, base := path.Split(name)
	if directory != "" {
		n = n.at(strings.TrimSuffix(directory, "/"))
	}
	n.children[base] = &node{name: base, text: text}
}

// constant puts a file that never changes into a directory.
func (n *node) constant(name, line string) {
	n.file(name, func() string { return line + "\n" })
}

// link puts a link into a directory.
func (n *node) link(name, target string, end *node) {
	directory, base := path.Split(name)
	if directory != "" {
		n = n.at(strings.TrimSuffix(directory, "/"))
	}
	n.children[base] = &node{name: base, target: target, end: end}
}

// find resolves a path, the last component's link too if follow is set.
func (n *node) find(name string, follow bool) (*node, error) {
	for part := range strings.SplitSeq(name, "/") {
		if n.target != "" {
			n = n.end
		}
		switch {
		case n == nil:
			return nil, fs.ErrNotExist
		case part == ".":
		case n.children == nil:
			return nil, errors.New("not a directory")
		default:
			n = n.children[part]
		}
		if n == nil {
			return nil, fs.ErrNotExist
		}
	}
	if follow && n.target != "" {
		n = n.end
	}
	if n == nil {
		return nil, fs.ErrNotExist
	}
	return n, nil
}

func (n *node) entries() []fs.DirEntry {
	entries := make([]fs.DirEntry, 0, len(n.children))
	for name, child := range n.children {
		entries = append(entries, fs.FileInfoToDirEntry(info{name, child}))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// info is a node under the name by which it was found. Like procfs it gives no sizes of files.
type info struct {
	name string
	node *node
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.node.size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.node.children != nil }
func (i info) Sys() any           { return nil }

func (i info) Mode() fs.FileMode {
	switch {
	case i.node.children != nil:
		return fs.ModeDir | 0o555
	case i.node.target != "":
		return fs.ModeSymlink | 0o777
	}
	return 0o444
}

// root is the part of a host that a file system shows.
type root int

const (
	procfs root = iota
	sysfs
	cgroupfs
	roots
)

// view is one file system of a host.
type view struct {
	host *Host
	root root
}

var _ interface {
	fs.ReadFileFS
	fs.ReadDirFS
	fs.StatFS
	fs.ReadLinkFS
} = view{}

func (v view) find(operation, name string, follow bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: operation, Path: name, Err: fs.ErrInvalid}
	}
	n, err := v.host.tree(v.root).find(name, follow)
	if err != nil {
		return nil, &fs.PathError{Op: operation, Path: name, Err: err}
	}
	return n, nil
}

// ReadFile returns the text of a file, generated while the clock is stopped. A file whose process or group has gone
// since the directory was read does not exist.
func (v view) ReadFile(name string) ([]byte, error) {
	v.host.mu.RLock()
	defer v.host.mu.RUnlock()
	n, err := v.find("read", name, true)
	if err == nil && n.text == nil {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("is not a file with text")}
	}
	if err != nil {
		return nil, err
	}
	return []byte(n.text()), nil
}

// ReadDir lists a directory in order of names.
func (v view) ReadDir(name string) ([]fs.DirEntry, error) {
	v.host.mu.RLock()
	defer v.host.mu.RUnlock()
	n, err := v.find("readdir", name, true)
	if err == nil && n.children == nil {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, err
	}
	return n.entries(), nil
}

// Stat describes what a path leads to.
func (v view) Stat(name string) (fs.FileInfo, error) { return v.describe("stat", name, true) }

// Lstat describes a path itself, be it a link.
func (v view) Lstat(name string) (fs.FileInfo, error) { return v.describe("lstat", name, false) }

func (v view) describe(operation, name string, follow bool) (fs.FileInfo, error) {
	v.host.mu.RLock()
	defer v.host.mu.RUnlock()
	n, err := v.find(operation, name, follow)
	if err != nil {
		return nil, err
	}
	return info{path.Base(name), n}, nil
}

// ReadLink returns the text of a link.
func (v view) ReadLink(name string) (string, error) {
	v.host.mu.RLock()
	defer v.host.mu.RUnlock()
	n, err := v.find("readlink", name, false)
	if err == nil && n.target == "" {
		err = &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return "", err
	}
	return n.target, nil
}

// Open opens a file, whose text is made now, or a directory.
func (v view) Open(name string) (fs.File, error) {
	described, err := v.describe("open", name, true)
	if err != nil {
		return nil, err
	}
	if described.IsDir() {
		entries, err := v.ReadDir(name)
		return &openDirectory{described, name, entries}, err
	}
	text, err := v.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{bytes.NewReader(text), described}, nil
}

type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDirectory struct {
	info    fs.FileInfo
	name    string
	entries []fs.DirEntry
}

func (d *openDirectory) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDirectory) Close() error               { return nil }

func (d *openDirectory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a directory")}
}

// ReadDir returns the next n entries, all that are left if n is not positive.
func (d *openDirectory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.entries)
	} else if len(d.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.entries))
	entries := d.entries[:n:n]
	d.entries = d.entries[n:]
	return entries, nil
}
