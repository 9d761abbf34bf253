package loadgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/umascope/umascope/loadgen/arena"
	"github.com/umascope/umascope/loadgen/rundir"
)

// mostArenaBytes is far above the result of any arena.
const mostArenaBytes = 8 << 20

// reopen takes the folder and the measured cells of the arena of --resume. Its flags must be those of now: the cells of
// one table are measured alike.
func (d *arenaDriver) reopen() error {
	name := d.line.arenaPlan.resume
	before, err := d.find(name)
	if err != nil {
		return fmt.Errorf("--resume: %w", err)
	}
	switch {
	case before.Schema != arena.Schema:
		return fmt.Errorf("--resume: %s: its schema is %q, not %s", d.folder.Path(rundir.ArenaFile), printable(before.Schema), arena.Schema)
	case before.State == arena.Complete:
		return fmt.Errorf("--resume: all %d cells of %s are measured", len(before.Cells), d.folder)
	}
	if flag := d.changedFlag(before.Flags); flag != "" {
		return fmt.Errorf("--resume: --%s was %q when %s began, and is %q now: give the flags that it began with", flag, printable(before.Flags[flag]), printable(before.Arena), printable(d.result.Flags[flag]))
	}
	if !before.SameCells(d.result) {
		return fmt.Errorf("--resume: %s has other cells than these flags make: has the file of --profile changed?", d.folder)
	}
	d.fresh = false
	flags := d.result.Flags
	d.result = before
	d.result.State, d.result.Reason, d.result.EndedAt, d.result.Flags = arena.Running, "", nil, flags
	return d.keep()
}

// find reads the result in the folder of a name, which is below --out or is a path.
func (d *arenaDriver) find(name string) (arena.Result, error) {
	for _, path := range []string{filepath.Join(d.line.arenaRun.Out, name), name} {
		file, err := os.Open(filepath.Join(path, rundir.ArenaFile))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return arena.Result{}, err
		}
		defer file.Close()
		var r arena.Result
		if err := json.NewDecoder(io.LimitReader(file, mostArenaBytes)).Decode(&r); err != nil {
			return arena.Result{}, fmt.Errorf("%s: %w", file.Name(), err)
		}
		if filepath.Base(filepath.Clean(path)) != r.Arena {
			return arena.Result{}, fmt.Errorf("%s: the arena's name is %.80q, not that of its folder", file.Name(), r.Arena)
		}
		d.folder = rundir.Folder(path)
		return r, nil
	}
	return arena.Result{}, fmt.Errorf("no folder %s in %s has an %s", name, d.line.arenaRun.Out, rundir.ArenaFile)
}

// changedFlag returns a flag that differs, of those that make a difference to what is measured.
func (d *arenaDriver) changedFlag(before map[string]string) string {
	free := []string{"resume", "run-id", "out", "dry-run", "rates", "export", "wait-ready", "ready-consecutive", "progress", "web.listen-address", "web.allow-host", "web.config.file", "web.linger",
		"xlsx", "csv", "conversations", "benchstat", "api-key-file"}
	for _, flag := range slices.Sorted(maps.Keys(d.result.Flags)) {
		if before[flag] != d.result.Flags[flag] && !slices.Contains(free, flag) && !logFlag(flag) {
			return flag
		}
	}
	return ""
}

func logFlag(flag string) bool { return len(flag) > 4 && flag[:4] == "log." }
