package summary

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// Entries returns the runs whose folders were found below another, the oldest first.
func Entries(root string, found []string) ([]rundir.Entry, error) {
	all := make([]rundir.Entry, 0, len(found))
	for _, o := range OpenAll(found) {
		e, err := entryOf(o)
		if err == nil {
			err = e.Measure(root, time.Now())
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	nameCopies(all)
	return rundir.SortByStart(all), nil
}

// entryOf returns the entry of a run folder.
func entryOf(o Opened) (rundir.Entry, error) {
	e := rundir.Entry{Run: filepath.Base(o.Path), Path: o.Path, State: rundir.EntryFinished}
	m, s := o.Run.Manifest, o.Run.Summary
	switch {
	case o.Err == nil:
		e.Valid = &s.Valid
	case errors.Is(o.Err, ErrUnfinished), errors.Is(o.Err, ErrShare):
		// The manifest can still be read.
		var err error
		if m, err = rundir.Folder(o.Path).ReadManifest(); err != nil {
			return e, err
		}
		if m.State == rundir.StateRunning {
			e.State = rundir.EntryUnfinished
		}
	default:
		e.State, e.Problem = rundir.EntryUnreadable, printable(o.Err)
		return e, nil
	}
	e.Run, e.StartedAt, e.Scenario, e.Arm = m.Run, &m.StartedAt, m.Scenario, m.Labels["arm"]
	if e.Model = m.Server.Model; e.Model == "" {
		e.Model = m.Labels["model"]
	}
	return e, nil
}

// nameCopies marks the folders that hold a run which another one holds too.
func nameCopies(all []rundir.Entry) {
	var places []rundir.Place
	for _, e := range all {
		if e.StartedAt != nil {
			places = append(places, rundir.Place{Path: e.Path, Run: e.Run, StartedAt: *e.StartedAt})
		}
	}
	copies := rundir.Copies(places)
	for i, e := range all {
		all[i].CopyOf = copies[e.Path]
	}
}
