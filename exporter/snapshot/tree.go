package snapshot

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

// tree is a file system in memory with symbolic links. testing/fstest.MapFS does not serve here: it recurses without
// end on a link that leads to itself, takes absolute links for broken, scans all entries to list a directory, and would
// link package testing into the exporter.
type tree struct{ root *node }

// node is a file, a directory (children not nil) or a link (target not "").
type node struct {
	name     string
	data     []byte
	target   string
	children map[string]*node
	// opened is the file that a link of a table of descriptors leads to, whatever its target is: such a file may have
	// no name any more. Nil for all other links.
	opened *node
	// size is the size in bytes of a file of which the archive has only the size; nil for all others.
	size *uint64
}

// maxLinks is the maximum number of links in a path; the kernel stops at 40 as well.
const maxLinks = 40

// maxDepth is the maximum number of components of a path.
const maxDepth = 64

var (
	errNotDirectory = errors.New("not a directory")
	errLinkLoop     = errors.New("too many links")
	errNoContent    = errors.New("the archive holds its size only")
)

func newTree() *tree { return &tree{directory(".")} }

func directory(name string) *node { return &node{name: name, children: map[string]*node{}} }

func (t *tree) addFile(name string, data []byte) error {
	return t.add(name, &node{name: path.Base(name), data: data})
}

func (t *tree) addLink(name, target string) error {
	if target == "" || strings.ContainsRune(target, 0) {
		return errors.New("leads nowhere")
	}
	return t.add(name, &node{name: path.Base(name), target: target})
}

// addDescriptor adds a link to an open file that may have no name.
func (t *tree) addDescriptor(name, target string, size uint64) error {
	if err := t.addLink(name, target); err != nil {
		return err
	}
	link, err := t.find(name, false)
	if err != nil {
		return err
	}
	link.opened = &node{name: link.name, size: &size}
	return nil
}

// add adds a node at its path, making directories. The path must not lead through links.
func (t *tree) add(name string, n *node) error {
	if !fs.ValidPath(name) || name == "." || strings.Count(name, "/") >= maxDepth {
		return errors.New("is no path")
	}
	at := t.root
	components := strings.Split(name, "/")
	for _, component := range components[:len(components)-1] {
		next := at.children[component]
		if next == nil {
			next = directory(component)
			at.children[component] = next
		}
		if next.children == nil {
			return errors.New("is below a file or link")
		}
		at = next
	}
	if at.children[n.name] != nil {
		return errors.New("stands twice")
	}
	at.children[n.name] = n
	return nil
}

// find resolves a path, the last component's link too if follow is set. Absolute targets begin at
// the root of the host; "..", as in the kernel, does not lead out of it.
func (t *tree) find(name string, follow bool) (*node, error) {
	var at []*node // the way from the root
	rest := strings.Split(path.Clean(name), "/")
	here := func() *node {
		if len(at) == 0 {
			return t.root
		}
		return at[len(at)-1]
	}
	for links := 0; len(rest) > 0; {
		component := rest[0]
		rest = rest[1:]
		switch component {
		case "", ".":
			continue
		case "..":
			at = at[:max(len(at)-1, 0)]
			continue
		}
		if here().children == nil {
			return nil, errNotDirectory
		}
		next := here().children[component]
		switch {
		case next == nil:
			return nil, fs.ErrNotExist
		case next.target == "" || len(rest) == 0 && !follow:
			at = append(at, next)
		case next.opened != nil:
			at = append(at, next.opened)
		case links == maxLinks:
			return nil, errLinkLoop
		default:
			links++
			if path.IsAbs(next.target) {
				at = nil
			}
			rest = slices.Concat(strings.Split(next.target, "/"), rest)
		}
	}
	return here(), nil
}

// at returns the file system below a directory, which need not exist.
func (t *tree) at(prefix string) fs.FS { return view{t, prefix} }

// view is the part of a tree below a directory. Links may lead out of it, as on a host.
type view struct {
	tree   *tree
	prefix string
}

func (v view) find(operation, name string, follow bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: operation, Path: name, Err: fs.ErrInvalid}
	}
	n, err := v.tree.find(v.prefix+"/"+name, follow)
	if err != nil {
		return nil, &fs.PathError{Op: operation, Path: name, Err: err}
	}
	return n, nil
}

// Open opens a file or directory, following links.
func (v view) Open(name string) (fs.File, error) {
	n, err := v.find("open", name, true)
	if err != nil {
		return nil, err
	}
	info := n.info(path.Base(name))
	if n.size != nil {
		return unreadFile{info}, nil
	}
	if n.children != nil {
		return &openDirectory{info: info, name: name, entries: n.entries()}, nil
	}
	return &openFile{bytes.NewReader(n.data), info}, nil
}

// ReadFile returns a copy of the content of a file.
func (v view) ReadFile(name string) ([]byte, error) {
	n, err := v.find("read", name, true)
	switch {
	case err != nil:
		return nil, err
	case n.children != nil:
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	case n.size != nil:
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNoContent}
	}
	return bytes.Clone(n.data), nil
}

// ReadDir lists a directory in order of names.
func (v view) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := v.find("readdir", name, true)
	if err == nil && n.children == nil {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errNotDirectory}
	}
	if err != nil {
		return nil, err
	}
	return n.entries(), nil
}

// Stat describes the target of a path.
func (v view) Stat(name string) (fs.FileInfo, error) {
	n, err := v.find("stat", name, true)
	if err != nil {
		return nil, err
	}
	return n.info(path.Base(name)), nil
}

// Lstat describes a path itself, even if it is a link.
func (v view) Lstat(name string) (fs.FileInfo, error) {
	n, err := v.find("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return n.info(path.Base(name)), nil
}

// ReadLink returns the text of a link.
func (v view) ReadLink(name string) (string, error) {
	n, err := v.find("readlink", name, false)
	if err == nil && n.target == "" {
		err = &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return "", err
	}
	return n.target, nil
}

func (n *node) entries() []fs.DirEntry {
	entries := make([]fs.DirEntry, 0, len(n.children))
	for name, child := range n.children {
		entries = append(entries, fs.FileInfoToDirEntry(child.info(name)))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

func (n *node) info(name string) fileInfo { return fileInfo{name, n} }

// fileInfo is a node under the name by which it was found.
type fileInfo struct {
	name string
	node *node
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.node.children != nil }
func (i fileInfo) Sys() any           { return nil }

func (i fileInfo) Size() int64 {
	if i.node.size != nil {
		return int64(*i.node.size)
	}
	return int64(len(i.node.data) + len(i.node.target))
}

func (i fileInfo) Mode() fs.FileMode {
	switch {
	case i.node.children != nil:
		return fs.ModeDir | 0o555
	case i.node.target != "":
		return fs.ModeSymlink | 0o777
	}
	return 0o444
}

type openFile struct {
	*bytes.Reader
	info fileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// unreadFile is a file of which the archive has only the size.
type unreadFile struct{ info fileInfo }

func (f unreadFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f unreadFile) Close() error               { return nil }

func (f unreadFile) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: errNoContent}
}

type openDirectory struct {
	info    fileInfo
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
