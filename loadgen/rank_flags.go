package loadgen

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/traffic"
)

// sharing holds the flags that divide a load among processes and set when its measured part begins.
type sharing struct {
	given   traffic.RankFlags
	startAt time.Time // zero: at once
}

func sharingFlags(set terminal.FlagSet, s *sharing) {
	terminal.Flag(set, "rank", "Number of this process among those that share the load, from 0; default: of mpirun, srun or a Kubernetes job.", "", &s.given.Rank, optionalFrom(0))
	terminal.Flag(set, "world", "How many processes share the load; see uma-load merge.", "", &s.given.World, optionalFrom(1))
	terminal.Flag(set, "start-at", "When the measured load of all ranks begins: RFC 3339 or Unix seconds; default below mpirun: 30 s after its start.", "", &s.startAt, traffic.ParseStart)
}

// optionalFrom returns a parser for whole numbers of at least least.
func optionalFrom(least int) func(string) (*int, error) {
	return func(s string) (*int, error) {
		n, err := terminal.AtLeast(least)(s)
		return &n, err
	}
}

// place finds the rank of this process among those that share the load, and sets their common start where mpirun
// started all of them on this machine.
func (s *sharing) place() (traffic.Place, error) {
	place, err := traffic.FindRank(s.given, os.LookupEnv)
	switch {
	case err != nil:
		return place, err
	case !s.startAt.IsZero():
		if err := traffic.CheckStart(s.startAt, time.Now()); err != nil {
			return place, fmt.Errorf("--start-at: %w", err)
		}
	case !place.Alone():
		if s.startAt, err = launcherStart(place); err != nil {
			return place, fmt.Errorf("--start-at: this is %s, and all ranks have to begin at one moment: %w; --rank 0 --world 1 makes it a run of its own", place, err)
		}
	}
	return place, nil
}

// launcherStart returns the default start of ranks that mpirun started on this machine.
func launcherStart(place traffic.Place) (time.Time, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return time.Time{}, err
	}
	start, err := traffic.LauncherStart(place, os.LookupEnv, proc, os.Getpid())
	if err != nil {
		return start, err
	}
	return start, traffic.CheckStart(start, time.Now())
}

// refuse returns an error for a sweep that is divided among ranks or has a start time: ranks do not wait for one
// another between runs.
func (s sharing) refuse() error {
	if !s.startAt.IsZero() {
		return errors.New("--start-at: it is of one run, and a sweep makes several")
	}
	place, err := traffic.FindRank(s.given, os.LookupEnv)
	if err == nil && !place.Alone() {
		err = fmt.Errorf("--world: this is %s, and ranks do not wait for one another between the runs of a sweep; --rank 0 --world 1 makes it one of its own", place)
	}
	return err
}
