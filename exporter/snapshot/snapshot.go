// Package snapshot keeps a whole host in one text file: what the collectors read from proc, sys and the cgroup tree,
// and the answers of the GPU driver.
//
// The format is txtar (golang.org/x/tools/txtar), because directory trees cannot travel: a module zip refuses the
// colons of PCI addresses and drops the symbolic links that /sys/class consists of. A link is an entry named "path ->
// target" without content. Only the link of a process's descriptor may have the size of its target as content, since
// that file can have lost its name:
//
//	-- proc/6330/fd/188 -> /mnt/dynamo-kvbm-disk-cache-Xa91Qz (deleted) --
//	size: 34359738368
//
// The driver's answers are the entry nvml.jsonl (see nvml.Record), and the lines before the first entry describe the
// file:
//
//	kind: recorded
//	description: H200, idle
//	page_size: 4096
//	recorded_with: umascope v0.1.0
//
//	Notes, up to the first entry.
//
// Pages of engines are entries such as http/127.0.0.1:6880/metrics, logs of engines are entries such as
// log/var/log/dynamo.log, and further lines of the header, which may repeat, list those that a reader of the host
// should read:
//
//	kvbm_url: http://127.0.0.1:6880/metrics
//	engine_url: http://127.0.0.1:8081/metrics
//	kvbm_log: /var/log/dynamo.log
//	kvbm_bytes_per_block: 4194304
//
// Write records a host by an allow-list and masks what identifies it; files made by hand have the kind constructed.
package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/umascope/umascope/exporter/nvml"
)

// Kind is the origin of the figures in an archive.
type Kind string

// The kinds.
const (
	Recorded    Kind = "recorded"    // read from a machine
	Constructed Kind = "constructed" // written by hand
)

// Limits of an archive that is read.
const (
	MaxBytes   = 8 << 20
	maxEntries = 16 << 10
)

// The paths of the roots and of the driver's answers.
const (
	procRoot      = "proc"
	sysRoot       = "sys"
	cgroupRoot    = "sys/fs/cgroup"
	recordingName = "nvml.jsonl"
	pageRoot      = "http"
	logRoot       = "log"
	linkArrow     = " -> "
)

// Archive is a host at the time of its recording.
type Archive struct {
	Kind         Kind
	Description  string // one line
	Notes        string // its origin, in any number of lines
	RecordedWith string
	// PageSize is that of the host's kernel in bytes.
	PageSize int
	// HTTP answers with the pages of the archive. Other addresses refuse the connection.
	HTTP http.RoundTripper
	// KVBMURLs and EngineURLs are pages to read, KVBMLogs paths of logs; some may be missing.
	KVBMURLs, EngineURLs, KVBMLogs []string
	// KVBMBlockBytes is the size of a KV block where pages and logs do not report it, 0 if unknown.
	KVBMBlockBytes uint64

	entries   []entry
	recording []byte
}

// Driver returns the GPU driver of the host, which starts at the first recorded answer.
func (a *Archive) Driver() (nvml.Driver, error) {
	driver, err := nvml.Replay(bytes.NewReader(a.recording))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", recordingName, err)
	}
	return driver, nil
}

// Read reads an archive. Errors have one line and name the entry.
func Read(data []byte) (*Archive, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("an archive may have %d bytes at most", MaxBytes)
	}
	text := txtar.Parse(data)
	if len(text.Files) > maxEntries {
		return nil, fmt.Errorf("an archive may have %d entries at most", maxEntries)
	}
	a, err := parseHeader(string(text.Comment))
	if err != nil {
		return nil, err
	}
	known := paths{}
	found := false
	for _, file := range text.Files {
		switch {
		case file.Name != recordingName:
			if err := a.addEntry(known, file); err != nil {
				return nil, fmt.Errorf("entry %.200q: %w", file.Name, err)
			}
		case found:
			return nil, fmt.Errorf("%s is there twice", recordingName)
		default:
			a.recording, found = file.Data, true
		}
	}
	a.HTTP = pages{a}
	if _, err := a.Driver(); err != nil {
		return nil, err
	}
	return a, nil
}

func roots() []string { return []string{procRoot, sysRoot, pageRoot, logRoot, smartRoot, cachedRoot} }

func (a *Archive) addEntry(known paths, file txtar.File) error {
	e, err := parseEntry(file)
	if err != nil {
		return err
	}
	top, _, inside := strings.Cut(e.path, "/")
	switch {
	case !inside || !slices.Contains(roots(), top):
		return fmt.Errorf("is in none of %s", strings.Join(roots(), ", "))
	case e.target != "" && top != procRoot && top != sysRoot:
		return errors.New("is a link where there are none")
	}
	a.entries = append(a.entries, e)
	return errors.Join(checkContent(top, e), known.add(e.path))
}

// content is that of a file by its path, such as smart/nvme0.
func (a *Archive) content(name string) ([]byte, error) {
	at := slices.IndexFunc(a.entries, func(e entry) bool { return e.path == name && e.target == "" })
	if at < 0 {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return a.entries[at].data, nil
}

// below are the paths of the files below a directory, in order.
func (a *Archive) below(directory string) []string {
	var names []string
	for _, e := range a.entries {
		if name, inside := strings.CutPrefix(e.path, directory+"/"); inside {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// parseHeader reads "key: value" lines up to an empty one; what follows is notes.
func parseHeader(comment string) (*Archive, error) {
	a := &Archive{}
	head, notes, _ := strings.Cut(comment, "\n\n")
	a.Notes = strings.TrimSpace(notes)
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			return nil, fmt.Errorf("header: %.60q is not key: value", strings.TrimSpace(line))
		}
		if err := a.set(key, strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("header: %s: %w", key, err)
		}
	}
	if a.Kind == "" || a.PageSize == 0 {
		return nil, errors.New("header: kind and page_size are needed: not an archive of a host")
	}
	return a, nil
}

func (a *Archive) set(key, value string) (err error) {
	switch key {
	case "kind":
		if a.Kind = Kind(value); a.Kind != Recorded && a.Kind != Constructed {
			return fmt.Errorf("%.40q is neither %s nor %s", value, Recorded, Constructed)
		}
	case "description":
		a.Description = value
	case "recorded_with":
		a.RecordedWith = value
	case "page_size":
		a.PageSize, err = strconv.Atoi(value)
		if err != nil || a.PageSize < 1<<10 || a.PageSize > 1<<20 || a.PageSize&(a.PageSize-1) != 0 {
			return fmt.Errorf("%.40q is no page size in bytes", value)
		}
	case keyBlockBytes:
		a.KVBMBlockBytes, err = strconv.ParseUint(value, 10, 64)
		if err != nil || a.KVBMBlockBytes == 0 {
			return fmt.Errorf("%.40q is no size in bytes", value)
		}
	default:
		return a.addSource(key, value)
	}
	return nil
}

// format returns the text of an archive.
func (a *Archive) format(files []txtar.File) []byte {
	var head strings.Builder
	fmt.Fprintf(&head, "kind: %s\ndescription: %s\npage_size: %d\n", a.Kind, a.Description, a.PageSize)
	if a.RecordedWith != "" {
		fmt.Fprintf(&head, "recorded_with: %s\n", a.RecordedWith)
	}
	for _, kind := range a.sources() {
		for _, source := range *kind.list {
			fmt.Fprintf(&head, "%s: %s\n", kind.key, source)
		}
	}
	if a.KVBMBlockBytes > 0 {
		fmt.Fprintf(&head, "%s: %d\n", keyBlockBytes, a.KVBMBlockBytes)
	}
	if a.Notes != "" {
		fmt.Fprintf(&head, "\n%s\n", a.Notes)
	}
	return txtar.Format(&txtar.Archive{Comment: []byte(head.String()), Files: files})
}
