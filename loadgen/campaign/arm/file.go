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

// fileMode is that of a file of which the plan says nothing.
const fileMode fs.FileMode = 0o640

// mostFile bounds a file that is compared with what would be written in its place.
const mostFile = 16 << 20

// writeFiles writes the files of the arm. One that is there already with other content is somebody's
// and stays as it is: those of earlier starts of the arm were taken away.
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

// makeFile notes a file before it is there: after a crash in between it is known to be ours.
func (k *keeper) makeFile(entry Written, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(entry.Path), 0o750); err != nil {
		return err
	}
	if err := k.note(func(s *State) { s.Files = append(s.Files, entry) }); err != nil {
		return err
	}
	return put(entry.Path, content, mode, os.Link)
}

// put makes a file in one step, also on a disk that fills up: install is os.Rename, which replaces, or
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

// removeFiles takes away what was written. What has been changed since is moved aside, and said to be.
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

// hashOf is the hash of a plain file.
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

// modeOf reads an octal mode.
func modeOf(text string) (fs.FileMode, error) {
	if text == "" {
		return fileMode, nil
	}
	mode, err := strconv.ParseUint(text, 8, 32)
	if err != nil || mode > 0o777 {
		return 0, fmt.Errorf("mode %q: want octal digits up to 777", text)
	}
	return fs.FileMode(mode), nil
}

// path is a path of the plan: one that is not absolute is below the folder of the arm.
func (k *keeper) path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(k.dir, path)
}
