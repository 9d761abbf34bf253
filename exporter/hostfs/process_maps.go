package hostfs

import (
	"fmt"
	"path"
	"strings"
)

// maxMapsBytes is the maximum number of bytes read of a process's mappings: some hundred thousand mappings.
const maxMapsBytes = 32 << 20

// MappedLibraries returns which of the files, each given by the prefix of its name, such as libcufile.so, a process has
// mapped, from /proc/<pid>/maps. If a process has more mappings than are read, the files found are returned with
// ErrTooLong, unless all were found. procfs keeps all mappings of a process in memory, however many.
//
//	7f2b1c000000-7f2b1c2f0000 r-xp 00000000 103:02 9961475    /usr/local/cuda/lib64/libcufile.so.1.15.1
func MappedLibraries(proc Dir, pid uint32, prefixes ...string) (map[string]bool, error) {
	found := map[string]bool{}
	name := processFile(pid, "maps")
	whole, err := proc.scanLines(name, maxMapsBytes, func(line string) bool {
		file := path.Base(mappedFile(line))
		for _, prefix := range prefixes {
			if strings.HasPrefix(file, prefix) {
				found[prefix] = true
			}
		}
		return len(found) < len(prefixes)
	})
	if err == nil && !whole && len(found) < len(prefixes) {
		err = fmt.Errorf("%s: %w: %d bytes", proc.shown(name), ErrTooLong, maxMapsBytes)
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
