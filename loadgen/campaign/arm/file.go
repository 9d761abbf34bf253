package arm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// mostFile is the largest existing file that is compared with the new content, in bytes.
const mostFile = 16 << 20

// writeFiles writes the files of the arm. An existing file with other content is not the arm's and stays as it is: files of
// earlier starts of the arm were removed.
func (k *keeper) writeFiles(files []plan.File) error {
	for _, file := range files {
		err := k.writeFile(file)
		if err != nil && file.Optional {
			k.log.Warn("optional file is not written", "error", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *keeper) writeFile(file plan.File) error {
	mode, err := modeOf(file.Mode)
	if err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	content := []byte(file.Text)
	entry := Written{Path: k.path(file.Path), SHA256: hash(content), Bytes: len(content)}
	found, err := hashOf(entry.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k.makeFile(entry, content, mode)
	case err != nil:
		return err
	case found == entry.SHA256:
		entry.Found = true
		return k.note(func(s *State) { s.Files = append(s.Files, entry) })
	}
	return fmt.Errorf("%s: is there already with other content, and not of this arm: move it away", entry.Path)
}

// makeFile records a file in the state before it creates it, so that after a crash it is recognised as the arm's.
func (k *keeper) makeFile(entry Written, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(entry.Path), 0o750); err != nil {
		return err
	}
	if err := k.note(func(s *State) { s.Files = append(s.Files, entry) }); err != nil {
		return err
	}
	return put(entry.Path, content, mode, os.Link)
}

// put creates a file atomically, even on a full disk. install is os.Rename, which replaces an existing file, or
// os.Link, which does not.
func put(path string, content []byte, mode fs.FileMode, install func(from, to string) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err := errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return install(file.Name(), path)
}

// removeFiles removes the files that were written. A file that was changed since is moved aside, and logged.
func (k *keeper) removeFiles() error {
	var errs []error
	for _, file := range k.seen().Files {
		if !file.Found {
			errs = append(errs, k.removeFile(file))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return k.note(func(s *State) { s.Files = slices.DeleteFunc(s.Files, func(w Written) bool { return !w.Found }) })
}

func (k *keeper) removeFile(file Written) error {
	now, err := hashOf(file.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && now == file.SHA256 {
		return os.Remove(file.Path)
	}
	aside := file.Path + ".changed-" + time.Now().UTC().Format("20060102T150405.000Z")
	k.log.Warn("a file of the arm has been changed since: moved aside", "path", file.Path, "to", aside)
	return os.Rename(file.Path, aside)
}

// hashOf returns the hash of a regular file.
func hashOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: is there already, and no plain file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, mostFile))
	return hash(content), err
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// modeOf parses an octal mode.
func modeOf(text string) (fs.FileMode, error) {
	mode, err := strconv.ParseUint(text, 8, 32)
	if err != nil || mode > 0o777 {
		return 0, fmt.Errorf("mode %q: want octal digits up to 777", text)
	}
	return fs.FileMode(mode), nil
}

// path returns a path of the plan; a relative path is below the folder of the arm.
func (k *keeper) path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(k.dir, path)
}
