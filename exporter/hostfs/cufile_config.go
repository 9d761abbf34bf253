package hostfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// cuFile is NVIDIA's library for GPUDirect Storage. It is observed from outside: its configuration, its log, and what is
// visible of a process.

// DefaultCuFileConfigPath is the path of the library's configuration unless CUFILE_ENV_PATH_JSON names a file.
const DefaultCuFileConfigPath = "/etc/cufile.json"

// CuFileConfig holds the settings of a cufile.json that decide how data moves, by their path in the file, such as
// properties.allow_compat_mode. Settings that the file lacks are missing; the library has defaults for them, which
// differ by version.
type CuFileConfig struct {
	Switches map[string]bool
	// Bytes are sizes. Their names lack the suffix _kb.
	Bytes  map[string]uint64
	Counts map[string]uint64
	// LogDirectory is the directory of the logs, "" if not set.
	LogDirectory string
}

// The settings that Mode depends on.
const (
	AllowCompatMode = "properties.allow_compat_mode"
	ForceCompatMode = "properties.force_compat_mode"
)

func cuFileSwitches() []string {
	return []string{
		AllowCompatMode, ForceCompatMode, "properties.use_pci_p2pdma", "block.nvme.use_pci_p2pdma",
		"properties.use_poll_mode", "execution.parallel_io", "fs.generic.posix_unaligned_writes",
	}
}

func cuFileSizes() []string {
	return []string{
		"properties.max_direct_io_size", "properties.max_device_cache_size", "properties.per_buffer_cache_size",
		"properties.max_device_pinned_mem_size", "execution.min_io_threshold_size",
	}
}

func cuFileCounts() []string {
	return []string{
		"execution.max_io_threads", "execution.max_io_queue_depth", "execution.max_request_parallelism", "profile.cufile_stats",
	}
}

// ParseCuFileConfig parses a cufile.json. It is JSON with comments; in NVIDIA's own file they end with the line. A value of
// the wrong type is skipped.
func ParseCuFileConfig(text []byte) (CuFileConfig, error) {
	decoder := json.NewDecoder(bytes.NewReader(withoutComments(text)))
	decoder.UseNumber()
	var root map[string]any
	if err := decoder.Decode(&root); err != nil {
		return CuFileConfig{}, fmt.Errorf("cufile.json: %w", err)
	}
	if decoder.More() {
		return CuFileConfig{}, errors.New("cufile.json: there is more behind it")
	}
	config := CuFileConfig{Switches: map[string]bool{}, Bytes: map[string]uint64{}, Counts: map[string]uint64{}}
	for _, name := range cuFileSwitches() {
		if on, is := lookUp(root, name).(bool); is {
			config.Switches[name] = on
		}
	}
	for _, name := range cuFileSizes() {
		if kibibytes, is := wholeNumber(lookUp(root, name+"_kb")); is && kibibytes <= math.MaxInt64/1024 {
			config.Bytes[name] = kibibytes * 1024
		}
	}
	for _, name := range cuFileCounts() {
		if count, is := wholeNumber(lookUp(root, name)); is {
			config.Counts[name] = count
		}
	}
	config.LogDirectory, _ = lookUp(root, "logging.dir").(string)
	return config, nil
}

// lookUp follows a path of names separated by dots.
func lookUp(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, is := value.(map[string]any)
		if !is {
			return nil
		}
		value = object[name]
	}
	return value
}

// wholeNumber returns a number if it is whole and not negative.
func wholeNumber(value any) (uint64, bool) {
	number, is := value.(json.Number)
	if !is {
		return 0, false
	}
	integer, err := number.Int64()
	return uint64(max(integer, 0)), err == nil && integer >= 0
}

// withoutComments replaces both kinds of C comments with blanks, so that errors still have the right offset.
func withoutComments(text []byte) []byte {
	plain := bytes.Clone(text)
	for at := 0; at < len(plain); {
		rest := plain[at:]
		switch {
		case rest[0] == '"':
			at += lengthOfString(rest)
		case bytes.HasPrefix(rest, []byte("//")):
			at += blankOut(rest, bytes.IndexByte(rest, '\n'), 0)
		case bytes.HasPrefix(rest, []byte("/*")):
			at += blankOut(rest, bytes.Index(rest[2:], []byte("*/")), 4)
		default:
			at++
		}
	}
	return plain
}

// blankOut overwrites a comment up to its end mark, and a number of bytes beyond, or to the end of the text if end is
// negative. It returns its length.
func blankOut(text []byte, end, beyond int) int {
	length := len(text)
	if end >= 0 {
		length = end + beyond
	}
	for i := range text[:length] {
		if text[i] != '\n' {
			text[i] = ' '
		}
	}
	return length
}

// lengthOfString returns the length of the string literal that text begins with, quotes included.
func lengthOfString(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
