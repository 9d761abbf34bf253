package summary

import (
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// h200Run is a run of eviction_replay of .ci/proofs/kv on an H200, with vLLM 0.26.0, KVBM 1.4.2 and tiers on a virtio drive:
// its requests, and the series of its telemetry that evidence reads. Names are masked.
func h200Run(t *testing.T, name string, again string, all ...string) *EvidenceInput {
	t.Helper()
	folder := rundir.Folder(filepath.Join("testdata", "h200-vllm-kvbm", name))
	log, err := telemetry.Read(folder.Path("telemetry.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	log.Engines = supported.Engines()
	return &EvidenceInput{
		Folder: folder, Records: Records(folder.Path(rundir.RequestsFile)), Telemetry: log, Hosts: []string{"host"}, Streamed: true,
		Verification: &evidence.Verification{
			First: "warm_A", Again: []string{again}, All: append(all, again), Baseline: [2]string{"baseline_1", "baseline_2"},
			Alone: true, Pressed: true, TokenBytes: 32768,
		},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// TestVerdictsOfRealRunsAreThoseOfTheirCounters has the figures that the proof's judge computed from KVBM's and vLLM's
// pages, /proc/PID/io and /proc/diskstats.
func TestVerdictsOfRealRunsAreThoseOfTheirCounters(t *testing.T) {
	for name, c := range map[string]struct {
		again   string
		all     []string
		block   float64
		back    map[string]float64
		offload evidence.Grade
	}{
		"kvbm": {"replay_A", []string{"warm_A", "pressure_B"}, 524288, map[string]float64{
			"kvbm_blocks_from_disk": 3433, "kvbm_blocks_from_disk_bytes": 1799880704, "process_read": 1799880704, "device_read": 1799880704}, evidence.Proven},
		"kvbm-filter-repeats": {"replay_A_2", []string{"warm_A", "pressure_B_1", "replay_A_1", "pressure_B_2"}, 524288, map[string]float64{
			"kvbm_blocks_from_disk": 3432, "kvbm_blocks_from_disk_bytes": 1799356416, "process_read": 1799356416}, evidence.Proven},
		// vLLM counts what it stores in memory, and not what it writes to files.
		"vllm-tiers": {"replay_A", []string{"warm_A", "pressure_B"}, 0, map[string]float64{
			"engine_loaded_bytes": 1799356416, "process_read": 1799356416, "device_read": 1799356416}, evidence.Consistent},
	} {
		t.Run(name, func(t *testing.T) {
			run := h200Run(t, name, c.again, c.all...)
			run.Verification.BlockBytes = c.block
			s := run.Verify().Signals
			if s.SSDRehydrate.Grade != evidence.Proven || s.Reuse.Grade != evidence.Proven || s.SSDOffload.Grade != c.offload {
				t.Errorf("back %+v\nreuse %+v\nwritten %+v", s.SSDRehydrate, s.Reuse, s.SSDOffload)
			}
			for figure, want := range c.back {
				if got := figureOf(t, s.SSDRehydrate, figure); got.Value != want || !got.Agrees {
					t.Errorf("%+v, want %v", got, want)
				}
			}
		})
	}
}
