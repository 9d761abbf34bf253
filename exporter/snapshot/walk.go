package snapshot

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/umascope/umascope/exporter/hostfs"
	"golang.org/x/tools/txtar"
)

// Limits of an archive that is written. Together with the allow-list they keep a host of several GPUs and some hundred
// containers below 400 KB.
const (
	maxFileBytes    = 32 << 10
	maxMatches      = 64 // of one pattern in one directory
	maxWrittenBytes = 380 << 10
	maxWrittenFiles = 4000
	bytesPerMarker  = 8 // the bytes that txtar adds to a name
)

// markerLine is a line that would end an entry.
var markerLine = regexp.MustCompile(`(?m)^-- .* --$`)

// walker collects allowed files of one host, masked.
type walker struct {
	masker *masker
	files  []txtar.File
	seen   map[string]bool
	bytes  int
	// leftOut counts files beyond the limit.
	leftOut int
}

func newWalker(m *masker) *walker { return &walker{masker: m, seen: map[string]bool{}} }

// collect records what the rows allow of a file system, as entries below root. Files that are missing or cannot be read
// are left out: a recording shows what a reader with these rights sees.
func (w *walker) collect(ctx context.Context, dir hostfs.Dir, root string, rows []allowed) error {
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := visit{walker: w, dir: dir, root: root, row: row}
		v.descend(".", strings.Split(row.path, "/"), maxLinks)
	}
	return nil
}

// visit is the search for the files of one row.
type visit struct {
	*walker
	dir  hostfs.Dir
	root string
	row  allowed
}

// descend follows the remaining components of the row's path from a directory that is no link.
func (v visit) descend(at string, rest []string, links int) {
	for _, name := range v.match(at, rest[0]) {
		v.enter(path.Join(at, name), rest[1:], links)
	}
}

// maxLinks is the maximum number of links on the way to a file; the kernel stops at 40 as well.
const maxLinks = 40

// patternCharacters make a component of a path a pattern.
const patternCharacters = "*?["

func (v visit) match(at, pattern string) []string {
	if !strings.ContainsAny(pattern, patternCharacters) {
		return []string{pattern}
	}
	entries, err := v.dir.ReadDir(at)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		if ok, err := path.Match(pattern, entry.Name()); ok && err == nil {
			names = append(names, entry.Name())
		}
	}
	return names[:min(len(names), maxMatches)]
}

// enter takes a path whose directory is no link. It follows the path if it is a link, enters it if there is more of the
// row's path, and else adds it to the archive.
func (v visit) enter(at string, rest []string, links int) {
	if info, err := v.dir.Lstat(at); err != nil || links == 0 {
		return
	} else if info.Mode()&fs.ModeSymlink != 0 {
		target, err := v.dir.ReadLink(at)
		if err != nil {
			return
		}
		v.keepLink(at, target)
		to, inside := v.resolve(at, target)
		if inside && (len(rest) > 0 || !v.row.link) {
			v.enter(to, rest, links-1)
		}
		return
	}
	if len(rest) > 0 {
		v.descend(at, rest, links)
	} else if !v.row.link {
		v.keepFile(at)
	}
}

// resolve returns the target of a link within the file system. An absolute target names its mount point.
func (v visit) resolve(at, target string) (string, bool) {
	if path.IsAbs(target) {
		inside, ok := strings.CutPrefix(target, "/"+v.root+"/")
		return inside, ok && fs.ValidPath(inside)
	}
	to := path.Join(path.Dir(at), target)
	return to, fs.ValidPath(to)
}

func (v visit) keepLink(at, target string) {
	v.add(v.masked(at)+linkArrow+v.masker.mask(target), nil)
}

func (v visit) keepFile(at string) {
	text, err := v.dir.ReadFile(at)
	text = bytes.TrimRight(text, "\x00") // device trees end their texts with a zero byte
	if err != nil || len(text) > maxFileBytes || !utf8.Valid(text) || bytes.ContainsRune(text, 0) || markerLine.Match(text) {
		return
	}
	if w := v.walker; w.bytes+len(text) > maxWrittenBytes {
		w.leftOut++ // before masking work is wasted on it
		return
	}
	masks := map[content]func(string) string{plain: v.masker.mask, names: v.masker.maskNames, cgroupPaths: v.masker.maskProcessCgroups}
	v.add(v.masked(at), []byte(masks[v.row.content](string(text))))
}

// masked returns the name of an entry. Only directories of cgroups have names that people gave.
func (v visit) masked(at string) string {
	if v.root == cgroupRoot {
		directory, file := path.Split(at)
		return v.root + "/" + v.masker.maskCgroup(directory) + file
	}
	return v.root + "/" + v.masker.mask(at)
}

// add adds an entry once. Rows come in order of importance, so that the limit drops the least important.
func (w *walker) add(name string, content []byte) {
	if w.seen[name] || strings.ContainsAny(name, "\n\r") {
		return
	}
	w.seen[name] = true
	size := len(name) + len(content) + bytesPerMarker
	if w.bytes+size > maxWrittenBytes || len(w.files) == maxWrittenFiles {
		w.leftOut++
		return
	}
	w.bytes += size
	w.files = append(w.files, txtar.File{Name: name, Data: content})
}

// sorted returns the entries in order of names.
func (w *walker) sorted() []txtar.File {
	slices.SortFunc(w.files, func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
	return w.files
}
