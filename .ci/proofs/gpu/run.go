package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// measured are the figures of a run folder of uma-load that are judged.
type measured struct {
	folder   string
	arm      string
	valid    bool
	problems []string
	held     *float64 // bytes: the most that GPU processes held
	energy   *float64 // joules of the measured phase
	reuse    string   // grade of the evidence
	from, to time.Time
}

func readRun(results fs.FS, folder string) (measured, error) {
	var summary struct {
		Valid   bool                              `json:"valid"`
		Reasons []struct{ Code string }           `json:"invalid_reasons"`
		Labels  map[string]string                 `json:"labels"`
		Signals map[string]struct{ Grade string } `json:"signals"`
		Memory  struct {
			Held *float64 `json:"gpu_held_peak_bytes"`
		} `json:"memory"`
		Energy *struct {
			Joules float64 `json:"joules"`
		} `json:"energy"`
	}
	var manifest struct {
		StartedAt time.Time `json:"started_at"`
	}
	var phases struct {
		Phases []struct {
			Name  string `json:"name"`
			Start int64  `json:"start_ns"`
			End   int64  `json:"end_ns"`
		} `json:"phases"`
	}
	for name, into := range map[string]any{"summary.json": &summary, "manifest.json": &manifest, "phases.json": &phases} {
		if err := readJSON(results, path.Join(folder, name), into); err != nil {
			return measured{}, err
		}
	}
	m := measured{folder: folder, arm: summary.Labels["arm"], valid: summary.Valid, held: summary.Memory.Held, reuse: summary.Signals["reuse"].Grade}
	for _, reason := range summary.Reasons {
		m.problems = append(m.problems, reason.Code)
	}
	if summary.Energy != nil {
		m.energy = &summary.Energy.Joules
	}
	for _, p := range phases.Phases {
		if p.Name == "measure" {
			m.from, m.to = manifest.StartedAt.Add(time.Duration(p.Start)), manifest.StartedAt.Add(time.Duration(p.End))
		}
	}
	return m, nil
}

func readJSON(results fs.FS, name string, into any) error {
	b, err := fs.ReadFile(results, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// campaignRuns reads the finished runs of the campaign, one a slot.
func campaignRuns(results fs.FS) ([]measured, error) {
	var campaign struct {
		Slots []struct {
			Status string   `json:"status"`
			Runs   []string `json:"runs"`
		} `json:"slots"`
	}
	if err := readJSON(results, "runs/kv-size/campaign.json", &campaign); err != nil {
		return nil, err
	}
	var all []measured
	for i, slot := range campaign.Slots {
		if slot.Status != "finished" || len(slot.Runs) == 0 {
			return nil, fmt.Errorf("slot %d of the campaign is %s", i+1, slot.Status)
		}
		run, err := readRun(results, "runs/kv-size/"+slot.Runs[len(slot.Runs)-1])
		if err != nil {
			return nil, err
		}
		all = append(all, run)
	}
	return all, nil
}

// snapshot is the page of a source when a phase of a run began.
func snapshot(results fs.FS, folder, phase, source string) (string, error) {
	names, err := fs.Glob(results, path.Join(folder, "snapshots", "*-"+phase+"-"+source+".prom.gz"))
	if err != nil || len(names) == 0 {
		return "", fmt.Errorf("%s has no page of %s in phase %s", folder, source, phase)
	}
	b, err := fs.ReadFile(results, names[len(names)-1])
	if err != nil {
		return "", err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	page, err := io.ReadAll(unpacked)
	return string(page), err
}

// cachedTokens adds up the cached prompt tokens that the answers of some phases report.
func cachedTokens(results fs.FS, folder string, phases ...string) (float64, error) {
	text, err := readText(results, path.Join(folder, "requests.jsonl"))
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for line := range strings.Lines(text) {
		var r struct {
			Phase  string   `json:"phase"`
			Cached *float64 `json:"tokens_cached"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return 0, fmt.Errorf("%s: %w", folder, err)
		}
		for _, phase := range phases {
			if r.Phase == phase && r.Cached != nil {
				sum += *r.Cached
			}
		}
	}
	return sum, nil
}
