package view

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/prometheus/prometheus/util/compression"
)

// Sizes of files. Those of the write-ahead log are removed whole, so that small ones keep the folder small; those of blocks have
// their space before they are written, which a small disk may not have.
const (
	walSegmentBytes = 16 << 20
	blockFileBytes  = 32 << 20
)

// lockFolder makes the folder of the samples, and locks it against other instances.
func lockFolder(dir string) (*tsdbutil.DirLocker, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, folderProblem(dir, err)
	}
	lock, err := tsdbutil.NewDirLocker(dir, "tsdb", slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return nil, err
	}
	if err := lock.Lock(); err != nil {
		return nil, folderProblem(dir, err)
	}
	return lock, nil
}

// openSamples opens the folder of the samples, which is locked. Prometheus repairs its write-ahead log itself, and logs what
// that loses.
func openSamples(c databaseConfig, registry prometheus.Registerer) (*tsdb.DB, error) {
	if err := c.Room(); err != nil {
		return nil, folderProblem(c.Dir, err)
	}
	if err := setAsideDamaged(c.Dir, c.Log); err != nil {
		return nil, folderProblem(c.Dir, err)
	}
	options := tsdb.DefaultOptions()
	options.NoLockfile = true
	options.RetentionDuration, options.MaxBytes = c.RetentionTime.Milliseconds(), c.RetentionBytes
	options.MaxBlockDuration = options.RetentionDuration / 10 // as Prometheus: few large blocks need less index than many small ones
	options.MaxBlockChunkSegmentSize = blockFileBytes
	options.WALSegmentSize, options.WALCompression = walSegmentBytes, compression.Snappy
	db, err := tsdb.Open(c.Dir, c.Log, registry, options, tsdb.NewDBStats())
	if err != nil {
		return nil, folderProblem(c.Dir, err)
	}
	return db, nil
}

// blockName is the name of a block, a ULID.
var blockName = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}$`)

// setAsideDamaged renames blocks that cannot be read, with which Prometheus does not start. It deletes nothing.
func setAsideDamaged(dir string, log *slog.Logger) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() || !blockName.MatchString(entry.Name()) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		block, err := tsdb.OpenBlock(slog.New(slog.DiscardHandler), path, nil, nil)
		switch {
		case err == nil:
			err = block.Close()
		case !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) && !errors.Is(err, syscall.ENOMEM):
			log.Warn("a block of samples cannot be read and is not shown; it is kept under another name", "block", path, "as", path+".damaged", "why", err)
			err = os.Rename(path, path+".damaged")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// folderProblem returns an error that names the folder and what to do.
func folderProblem(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("--data %s: the disk is full; free some of it, or give a folder on another disk: %w", dir, err)
	case errors.Is(err, syscall.EAGAIN): // of the lock
		return inputError{fmt.Errorf("--data %s: another uma-view has it open; end that, or give another folder", dir)}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EEXIST):
		return inputError{fmt.Errorf("--data %s: it is a file, or below one; give a folder", dir)}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return inputError{fmt.Errorf("--data %s: this user may not write there; give another folder: %w", dir, err)}
	}
	return fmt.Errorf("--data %s: %w", dir, err)
}
