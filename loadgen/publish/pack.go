package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runfile"
)

// Schema names the form of pack.json.
const Schema = "umascope.pack/1"

// Files of a pack.
const (
	PackFile        = "pack.json"
	IndexFile       = "index.html"
	ComparisonFile  = "comparison.html"
	ComparisonJSON  = "comparison.json"
	RunsFile        = "runs.csv"
	SummaryFile     = "summary.csv"
	DeltasFile      = "deltas.csv"
	SlotsFile       = "slots.csv" // slots of campaigns
	MethodologyFile = "methodology.md"
	CitationFile    = "CITATION.cff"
	FiguresFolder   = "figures"
	RunsFolder      = "runs"
)

// Pack is pack.json: the contents of a pack, and what was left out.
type Pack struct {
	Schema    string         `json:"schema"`
	Title     string         `json:"title"`
	CreatedAt time.Time      `json:"created_at"`
	Program   rundir.Program `json:"program"`
	// Simulated is true if at least one run had a simulated engine or machine.
	Simulated bool `json:"simulated,omitempty"`
	// Runs are the names of the runs, LeftOut the files of runs that the pack does not have.
	Runs    []string `json:"runs"`
	LeftOut []string `json:"left_out,omitempty"`
	// Damaged has an error for each run that was left out because it is damaged, with its name and the reason.
	Damaged []error `json:"-"`
	// Files are all files except this one, by path.
	Files []PackedFile `json:"files"`
}

// PackedFile is a file of a pack.
type PackedFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// mostPackJSON bounds a pack.json.
const mostPackJSON = 256 << 20

// ReadPack reads the pack.json of a folder. Its error gives the reason why the folder is not a pack.
func ReadPack(dir string) (Pack, error) {
	var p Pack
	file, err := runfile.Open(filepath.Join(dir, PackFile))
	if err != nil {
		return p, err
	}
	defer file.Close()
	err = json.NewDecoder(io.LimitReader(file, mostPackJSON)).Decode(&p)
	if err == nil && p.Schema != Schema {
		err = fmt.Errorf("its form is %q and not %q", p.Schema, Schema)
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", filepath.Join(dir, PackFile), err)
	}
	return p, nil
}

// Verify lists the files of a pack that are missing, changed or additional.
func Verify(dir string) (Pack, []string, error) {
	p, err := ReadPack(dir)
	if err != nil {
		return p, nil, err
	}
	there, err := filesOf(dir)
	if err != nil {
		return p, nil, err
	}
	var problems []string
	for _, f := range p.Files {
		at := slices.Index(there, f.Path)
		if at < 0 {
			problems = append(problems, f.Path+" is missing")
			continue
		}
		there = slices.Delete(there, at, at+1)
		switch now, err := packed(dir, f.Path); {
		case err != nil:
			return p, nil, err
		case now != f:
			problems = append(problems, f.Path+" is not the one that was packed")
		}
	}
	for _, path := range there {
		if path != PackFile {
			problems = append(problems, path+" is not of the pack")
		}
	}
	return p, problems, nil
}

// filesOf lists the files below a folder by their paths, with slashes. It includes anything that is not a regular file,
// so that Verify reports it: a pack has only regular files and folders.
func filesOf(dir string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		all = append(all, filepath.ToSlash(relative))
		return err
	})
	slices.Sort(all)
	return all, err
}

// packed returns a file as pack.json lists it.
func packed(dir, path string) (PackedFile, error) {
	full := filepath.Join(dir, filepath.FromSlash(path))
	if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() {
		return PackedFile{Path: path}, err
	}
	file, err := runfile.Open(full) // it may have been replaced since
	if err != nil {
		return PackedFile{}, err
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	return PackedFile{path, n, hex.EncodeToString(sum.Sum(nil))}, err
}

// CheckOut returns an error if a pack cannot be made at the path: something that is not a pack is there already, or the
// pack has files that it does not list.
func CheckOut(out string) error {
	info, err := os.Lstat(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is there and no folder", out)
	}
	files, err := filesOf(out)
	if err != nil || len(files) == 0 {
		return err
	}
	p, err := ReadPack(out)
	if err != nil {
		return fmt.Errorf("%s is there and no pack of ours, which could be replaced: %w", out, err)
	}
	for _, path := range files {
		if path != PackFile && !slices.ContainsFunc(p.Files, func(f PackedFile) bool { return f.Path == path }) {
			return fmt.Errorf("%s: %s is not of the pack and would be lost", out, path)
		}
	}
	return nil
}

// replace moves a finished folder to the place of the pack; readers find the old or the new one at any time.
func replace(stage, out string) error {
	err := runfile.Exchange(stage, out)
	switch {
	case err == nil:
		return os.RemoveAll(stage) // the stage is the old pack now
	case errors.Is(err, fs.ErrNotExist):
		return os.Rename(stage, out)
	}
	// A file system without exchange: move the old pack away first.
	old := stage + ".old"
	if err := os.Rename(out, old); err != nil {
		return err
	}
	if err := os.Rename(stage, out); err != nil {
		return errors.Join(err, os.Rename(old, out))
	}
	return os.RemoveAll(old)
}

// seal lists all files of a finished folder.
func (p *Pack) seal(dir string) error {
	paths, err := filesOf(dir)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if strings.HasPrefix(filepath.Base(path), ".") {
			return fmt.Errorf("%s: left behind", path)
		}
		f, err := packed(dir, path)
		if err != nil {
			return err
		}
		p.Files = append(p.Files, f)
	}
	return rundir.WriteFile(filepath.Join(dir, PackFile), 0o644, rundir.JSON(p))
}
