package hosts

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/umascope/umascope/loadgen/rundir"
)

// largestFile is the largest target file that is read, in bytes.
const largestFile = 1 << 20

// writtenFile is the file that --write names, as it was before.
type writtenFile struct {
	text    []byte
	targets []Target // targets for Prometheus that uma-load wrote
}

// open reads the file before any host is asked, so that a file of another program is refused at once.
func (s Search) open() (writtenFile, error) {
	if s.Write == "" {
		return writtenFile{}, nil
	}
	info, err := os.Lstat(s.Write)
	if errors.Is(err, os.ErrNotExist) {
		return writtenFile{}, nil
	}
	if err != nil {
		return writtenFile{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > largestFile {
		return writtenFile{}, fmt.Errorf("%s is not a small plain file and is left as it is", s.Write)
	}
	var file writtenFile
	if file.text, err = os.ReadFile(s.Write); err != nil {
		return writtenFile{}, err
	}
	if !isOurs(file.text, s.Format) {
		return writtenFile{}, fmt.Errorf("%s %w", s.Write, errForeign)
	}
	if s.Format == Prometheus {
		if file.targets, err = parseDiscovery(file.text); err != nil {
			return writtenFile{}, fmt.Errorf("%s cannot be read and is left as it is: %w", s.Write, err)
		}
	}
	return file, nil
}

// replace replaces the file atomically, if its content changes.
func (s Search) replace(stdout, stderr io.Writer, file writtenFile, f finding) error {
	text, kept := f.render(s, file.targets)
	for _, t := range kept {
		fmt.Fprintf(stderr, "%s at %s was not found now and stays in the file; --forget drops it\n", t.Host, t.At)
	}
	if text == nil {
		return fmt.Errorf("%w: %s is left as it is", f.noTarget(), s.Write)
	}
	if string(text) == string(file.text) {
		fmt.Fprintf(stdout, "%s says so already\n", s.Write)
		return nil
	}
	err := rundir.WriteFile(s.Write, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("--write: %w", err)
	}
	fmt.Fprintf(stdout, "wrote %s\n", s.Write)
	return nil
}
