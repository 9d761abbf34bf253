package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// Order is the files to import and the destination.
type Order struct {
	Format Format
	Files  []string
	// Out is the folder of run folders. It is created if it is missing.
	Out string
	// Labels replace labels from the file.
	Labels  map[string]string
	Program rundir.Program
	Now     time.Time
	// Show writes the readable pages into the folder of a run; nil leaves them out.
	Show func(summary.Run) error
}

// Imported is a run that was imported.
type Imported struct {
	rundir.Folder
	File    string
	Result  Result
	Summary summary.Summary
}

// Import makes a folder of every run in the files, in the order of their start, then of the files. It reads all files before it writes
// any, and a failure leaves nothing behind: neither half of a run nor half of the runs. If a run exists already, the
// error names it.
func (o Order) Import() ([]Imported, error) {
	all, err := o.read()
	if err != nil {
		return nil, err
	}
	if err := o.refuseKnown(all); err != nil {
		return nil, err
	}
	made, err := o.write(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Out, err)
	}
	return made, nil
}

// found is a run in a file, with its new name.
type found struct {
	id     string
	file   *file
	result Result
}

func (o Order) read() ([]found, error) {
	var all []found
	files, runs := map[string]string{}, map[string]string{}
	paths, err := o.paths()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		f, err := openFile(path)
		if err != nil {
			return nil, err
		}
		if first, twice := files[f.sha256]; twice {
			return nil, fmt.Errorf("%s: it says the same as %s", path, first)
		}
		files[f.sha256] = path
		results, err := o.Format.read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: no file of %s: %w", path, o.Format.Name, err)
		}
		for _, r := range results {
			maps.Copy(r.labels(), o.Labels)
			one := found{rundir.SharedID(r.StartedAt, r.Labels["arm"], cmp.Or(r.Namer, o.Format.Name), r.Key), f, r}
			if first, twice := runs[one.id]; twice {
				return nil, fmt.Errorf("%s: it has a second run of %s in the arm %q; the first is in %s", path, printable(r.Key, longestLabel), r.Labels["arm"], first)
			}
			runs[one.id] = path
			f.text = nil // no longer needed
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.result.StartedAt.Compare(b.result.StartedAt) })
	return all, nil
}

// paths returns the files, those of a folder in its place.
func (o Order) paths() ([]string, error) {
	if o.Format.files == nil {
		return o.Files, nil
	}
	var all []string
	for _, path := range o.Files {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			all = append(all, path)
			continue
		}
		inside, err := o.Format.files(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, inside...)
	}
	return all, nil
}

// labels returns a copy that may be changed. A run without an arm belongs to an experiment with only one arm.
func (r *Result) labels() map[string]string {
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	if r.Labels["arm"] == "" {
		r.Labels["arm"] = "default"
	}
	return r.Labels
}

// refuseKnown returns an error if a run was imported before, under any name.
func (o Order) refuseKnown(all []found) error {
	manifests, err := filepath.Glob(filepath.Join(globQuoted(o.Out), "*", rundir.ManifestFile))
	if err != nil {
		return err
	}
	known := map[string]string{}
	for _, path := range manifests {
		var m struct {
			Run      string           `json:"run"`
			Imported *rundir.Imported `json:"imported"`
		}
		text, err := readFile(path, mostNeighbourBytes)
		if err != nil || json.Unmarshal(text, &m) != nil || m.Imported == nil {
			continue // unreadable, or not an imported run
		}
		known[m.Imported.SHA256+" "+m.Imported.Key] = m.Run
	}
	for _, one := range all {
		if run, twice := known[one.file.sha256+" "+one.result.Key]; twice {
			return fmt.Errorf("%s: it was imported before: its run of %s is %s", one.file.path, printable(one.result.Key, longestLabel), filepath.Join(o.Out, printable(run, longestLabel)))
		}
		if _, err := os.Lstat(filepath.Join(o.Out, one.id)); err == nil {
			return fmt.Errorf("%s: its run of %s is there already, from another file: %s", one.file.path, printable(one.result.Key, longestLabel), filepath.Join(o.Out, one.id))
		}
	}
	return nil
}

// globQuoted quotes a path for use in a pattern.
func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// write makes the folders in a temporary one, and moves them to their place when all are complete.
func (o Order) write(all []found) (made []Imported, err error) {
	if err := os.MkdirAll(o.Out, 0o750); err != nil {
		return nil, err
	}
	half, err := os.MkdirTemp(o.Out, ".import-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(half)) }()
	for _, one := range all {
		sum, err := o.writeRun(half, one)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.id, err)
		}
		made = append(made, Imported{rundir.Folder(filepath.Join(o.Out, one.id)), one.file.name, one.result, sum})
	}
	for i, one := range all {
		err := place(filepath.Join(half, one.id), string(made[i].Folder))
		if err != nil {
			for _, before := range made[:i] {
				err = errors.Join(err, os.RemoveAll(string(before.Folder))) // created a moment ago, by this import
			}
			return nil, err
		}
	}
	return made, nil
}

// place moves a folder to a path that must not exist.
func place(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	return os.Rename(from, to)
}

func (o Order) writeRun(out string, one found) (summary.Summary, error) {
	f, err := rundir.New(out, one.id)
	if err == nil {
		err = f.WriteJSON(rundir.ManifestFile, o.manifest(one))
	}
	if err == nil && len(one.result.Requests) > 0 {
		err = one.writeRequests(f)
	}
	if err != nil {
		return summary.Summary{}, err
	}
	r, err := summary.Write(string(f), supported.Engines())
	if err == nil && o.Show != nil {
		err = o.Show(r)
	}
	return r.Summary, err
}

// writeRequests writes the requests of a run and its phases.
func (one found) writeRequests(f rundir.Folder) error {
	lines, err := rundir.NewLines(f.Path(rundir.RequestsFile), func(error) {})
	if err != nil {
		return err
	}
	for _, record := range one.result.Requests {
		record.Run = one.id
		lines.Add(record)
	}
	if err := lines.Close(); err != nil {
		return err
	}
	return f.WriteJSON(rundir.PhasesFile, rundir.Phases{Schema: rundir.PhasesSchema, Phases: one.result.Phases})
}

func (o Order) manifest(one found) rundir.Manifest {
	r := one.result
	m := rundir.Manifest{
		Schema: rundir.ManifestSchema, Run: one.id, Scenario: o.Format.Name, Labels: r.Labels, State: rundir.StateComplete,
		StartedAt: r.StartedAt.UTC(), Program: o.Program, Flags: r.Settings,
		Server: rundir.Server{
			URL: r.URL, Model: r.Model, Engine: r.Engine, Version: r.EngineVersion, Fields: rundir.Acceptance{Accepted: []string{}, Unknown: "the run was imported"},
			LatencyProbeSeconds: r.LatencySeconds, LatencyProbeMode: r.LatencyMode,
		},
		Judging:  one.judging(o.Format),
		Imported: o.imported(one),
	}
	if m.Flags == nil {
		m.Flags = map[string]string{}
	}
	if !r.EndedAt.IsZero() {
		ended := r.EndedAt.UTC()
		m.EndedAt = &ended
	}
	if r.ExitCode != nil && *r.ExitCode != 0 {
		m.State = rundir.StateFailed
	}
	return m
}
