package summary

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Run is a run, read from its folder.
type Run struct {
	rundir.Folder
	Manifest rundir.Manifest
	Summary  Summary

	// computed is set when requests and log are those that the summary was computed from.
	computed bool
	requests *Requests
	log      *telemetry.Log
}

// Errors for folders without a finished run. Neither of them means damage.
var (
	// ErrUnfinished is returned for a run that is still going on, or was killed before its summary was written.
	ErrUnfinished = errors.New("the run has no summary: it goes on or was killed")
	// ErrShare is returned for a rank, which has a part of the requests of its run.
	ErrShare = errors.New("the run is one rank's share of a larger one: merge the ranks")
)

// Open reads a finished run, with its summary as it was written. Its errors begin with the folder.
func Open(path string) (Run, error) {
	r := Run{Folder: rundir.Folder(path)}
	err := r.open()
	if err != nil {
		return Run{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Read reads a run as Open does; it computes the summary of a run that was killed. Engines are those whose own pages are
// understood.
func Read(path string, engines spec.Engines) (Run, error) {
	r, err := Open(path)
	if !errors.Is(err, ErrUnfinished) {
		return r, err
	}
	return Compute(path, engines)
}

// Write computes the summary of a run as Compute does and writes it into its folder.
func Write(path string, engines spec.Engines) (Run, error) {
	r := Run{Folder: rundir.Folder(path)}
	err := r.compute(engines)
	if err == nil {
		err = r.WriteJSON(rundir.SummaryFile, r.Summary)
	}
	return r, err
}

func (r *Run) open() error {
	var err error
	if r.Manifest, err = r.ReadManifest(); err != nil {
		return err
	}
	if r.Summary, err = r.written(); err != nil {
		return err
	}
	r.Summary.Made = cmp.Or(r.Summary.Made, madeOf(r.Manifest)) // summaries of older programs lack it
	if r.isShare() {
		return ErrShare
	}
	return nil
}

// written reads summary.json unchanged.
func (r *Run) written() (Summary, error) {
	var s Summary
	switch err := r.ReadJSON(rundir.SummaryFile, Schema, &s, &s.Schema); {
	case errors.Is(err, fs.ErrNotExist):
		return s, ErrUnfinished
	case err != nil:
		return s, err
	case s.Run != r.Manifest.Run:
		return s, fmt.Errorf("its summary is of the run %q and its manifest of %q", s.Run, r.Manifest.Run)
	}
	return s, nil
}

func (r *Run) isShare() bool { return r.Manifest.Rank != nil && r.Manifest.Rank.World > 1 }

// HasRequests reports whether the folder has the requests of the run.
func (r Run) HasRequests() bool {
	info, err := os.Lstat(r.Path(rundir.RequestsFile))
	return err == nil && info.Mode().IsRegular()
}

// Telemetry returns the samples of exporters and engines during the run; nil without any. Its errors name the file.
func (r Run) Telemetry() (*telemetry.Log, error) {
	if r.computed {
		return r.log, nil
	}
	path := r.Path(rundir.TelemetryFile)
	if info, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return telemetry.Read(path)
}

// Requests returns the data of the charts about its requests; nil for a load that uma-load did not send, and for a
// folder whose summary cannot be computed.
func (r Run) Requests() (*Requests, error) {
	if r.computed {
		return r.requests, nil
	}
	if r.Manifest.Judging == nil || !r.HasRequests() {
		return nil, nil
	}
	err := r.digest(nil, nil) // they do not depend on telemetry
	return r.requests, err
}
