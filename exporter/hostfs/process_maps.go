package hostfs

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// maxMapsBytes is the maximum number of bytes read of a process's mappings: some hundred thousand mappings.
const maxMapsBytes = 32 << 20

// MappedLibraries returns which of the files, each given by the prefix of its name, such as libcufile.so, a process has
// mapped, from /proc/<pid>/maps. If a process has more mappings than are read, the files found are returned with
// ErrTooLong, unless all were found.
//
//	7f2b1c000000-7f2b1c2f0000 r-xp 00000000 103:02 9961475    /usr/local/cuda/lib64/libcufile.so.1.15.1
func MappedLibraries(proc fs.FS, pid uint32, prefixes ...string) (map[string]bool, error) {
	found := map[string]bool{}
	name := processFile(pid, "maps")
	whole, err := scanLines(proc, name, maxMapsBytes, func(line string) bool {
		file := path.Base(mappedFile(line))
		for _, prefix := range prefixes {
			if strings.HasPrefix(file, prefix) {
				found[prefix] = true
			}
		}
		return len(found) < len(prefixes)
	})
	if err == nil && !whole && len(found) < len(prefixes) {
		err = fmt.Errorf("%s: %w: %d bytes", displayPath(proc, name), ErrTooLong, maxMapsBytes)
	}
	return found, err
}

// mappedFile returns the path in a line of maps, "" for memory without a file. It is the rest of the line after five
// fields, and may contain blanks.
func mappedFile(line string) string {
	for range 5 {
		_, rest, found := strings.Cut(line, " ")
		if !found {
			return ""
		}
		line = strings.TrimLeft(rest, " ")
	}
	if !strings.HasPrefix(line, "/") {
		return ""
	}
	return line
}

// scanLines calls visit with each line of a file, without its end, until visit returns that it is done. It keeps one
// piece of a file of the running machine in memory at a time, since the kernel may generate megabytes. whole reports
// that the file had at most limit bytes.
func scanLines(fsys fs.FS, name string, limit int, visit func(line string) bool) (whole bool, err error) {
	root, live := fsys.(dir)
	if !live {
		content, err := fs.ReadFile(fsys, name)
		if err != nil {
			return false, err
		}
		visitLines(content[:min(len(content), limit)], visit)
		return len(content) <= limit, nil
	}
	file, err := root.path("read", name)
	if err != nil {
		return false, err
	}
	whole, err = scanDirectly(file, limit, visit)
	if err != nil {
		return false, &fs.PathError{Op: "read", Path: file, Err: err}
	}
	return whole, nil
}

func scanDirectly(file string, limit int, visit func(line string) bool) (whole bool, err error) {
	fd, err := untilUninterrupted(func() (int, error) {
		return unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if err := mustBeRegular(fd); err != nil {
		return false, err
	}
	buffer := make([]byte, 64<<10)
	kept := 0
	for total := 0; total <= limit; {
		n, err := untilUninterrupted(func() (int, error) { return unix.Read(fd, buffer[kept:]) })
		if err != nil {
			return false, err
		}
		if n == 0 {
			return true, nil
		}
		total += n
		rest, more := visitLines(buffer[:kept+n], visit)
		if !more {
			return true, nil
		}
		if kept = copy(buffer, rest); kept == len(buffer) {
			kept = 0 // no line of the kernel is that long
		}
	}
	return false, nil
}

// visitLines calls visit with the whole lines of a piece, until visit returns that it is done, and returns the bytes
// after the last line.
func visitLines(piece []byte, visit func(line string) bool) (rest []byte, more bool) {
	for {
		line, rest, ended := bytes.Cut(piece, []byte("\n"))
		if !ended {
			return piece, true
		}
		if !visit(string(line)) {
			return nil, false
		}
		piece = rest
	}
}
