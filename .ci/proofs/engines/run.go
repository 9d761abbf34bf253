package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// measured is one run folder: what uma-load recorded, and what the server counted meanwhile.
type measured struct {
	ours, theirs counts
	reuse        string
	invalid      []string
}

func (c counts) add(other counts) {
	for name, value := range other {
		c[name] += value
	}
}

// text is a count, empty if it is absent.
func (c counts) text(name string) string {
	if value, ok := c[name]; ok {
		return decimal(value)
	}
	return ""
}

// findRuns lists the run folders below a folder, which for a sweep are those of its group.
func findRuns(folder string) ([]string, error) {
	var runs []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "requests.jsonl" {
			runs = append(runs, filepath.Dir(path))
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the run was refused; its exit code is a row
	}
	slices.Sort(runs)
	return runs, err
}

// readRun adds up the requests of a run, warm-up included: the server counts that too.
func readRun(folder string) (measured, error) {
	m := measured{ours: counts{requests: 0, tokensIn: 0, tokensOut: 0}}
	file, err := os.Open(filepath.Join(folder, "requests.jsonl"))
	if err != nil {
		return m, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var one struct {
			Status       string
			TokensIn     float64  `json:"tokens_in"`
			TokensOut    float64  `json:"tokens_out"`
			TokensCached *float64 `json:"tokens_cached"`
		}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return m, err
		}
		if one.Status != "ok" {
			continue
		}
		m.ours.add(counts{requests: 1, tokensIn: one.TokensIn, tokensOut: one.TokensOut})
		if one.TokensCached != nil {
			m.ours.add(counts{cached: *one.TokensCached})
		}
	}
	var summary struct {
		InvalidReasons []struct{ Code string } `json:"invalid_reasons"`
		Signals        struct{ Reuse struct{ Grade string } }
	}
	var before, after counts
	err = errors.Join(lines.Err(), readJSON(filepath.Join(folder, "summary.json"), &summary),
		readJSON(filepath.Join(folder, "captures", "theirs-before.txt"), &before), readJSON(filepath.Join(folder, "captures", "theirs-after.txt"), &after))
	for _, r := range summary.InvalidReasons {
		m.invalid = append(m.invalid, r.Code)
	}
	m.reuse, m.theirs = summary.Signals.Reuse.Grade, after.minus(before)
	return m, err
}
