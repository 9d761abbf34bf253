package rundir

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Limits of the folder: a scenario has tens of phases, and a page some 100 kB before compression.
const (
	mostSnapshots      = 512
	mostSnapshotsBytes = 256 << 20 // before compression
)

// Snapshots keeps the raw pages of telemetry from the beginnings of phases, compressed, as NUMBER-PHASE-SOURCE.prom.gz:
// they have the series that the telemetry file leaves out. It is used from the goroutines of several sources.
type Snapshots struct {
	folder string

	mutex sync.Mutex
	files int
	bytes int
	left  int // pages dropped at the limit
	err   error
}

// NewSnapshots creates the folder for them.
func NewSnapshots(f Folder) (*Snapshots, error) {
	s := &Snapshots{folder: f.Path(SnapshotsFolder)}
	return s, os.Mkdir(s.folder, 0o750)
}

// Add keeps a page; border counts the phases. The first error is kept for Close.
func (s *Snapshots) Add(source string, border int, phase string, page []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.files == mostSnapshots || s.bytes+len(page) > mostSnapshotsBytes {
		s.left++
		return
	}
	s.files++
	s.bytes += len(page)
	name := fmt.Sprintf("%02d-%s-%s.prom.gz", border, phase, source)
	if err := writeCompressed(filepath.Join(s.folder, name), page); err != nil && s.err == nil {
		s.err = fmt.Errorf("%s: %w", SnapshotsFolder, err)
	}
}

func writeCompressed(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	compress := gzip.NewWriter(file)
	_, err = compress.Write(text)
	return errors.Join(err, compress.Close(), file.Close())
}

// Close returns an error if pages could not be kept. No call of Add may follow.
func (s *Snapshots) Close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.err == nil && s.left > 0 {
		return fmt.Errorf("%s: %d pages found no room in %d files of %d MiB", SnapshotsFolder, s.left, mostSnapshots, mostSnapshotsBytes>>20)
	}
	return s.err
}
