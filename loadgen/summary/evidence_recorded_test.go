package summary

import (
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// recordedEviction is a run of eviction_replay on vLLM 0.26.0 with KVBM 1.4.2, on one H200: the tier was on a virtio drive,
// which the exporter did not count. Its telemetry has only the series of evidence; names are masked, and requests have
// the totals and the median times of the real ones.
func recordedEviction(t *testing.T) *EvidenceInput {
	t.Helper()
	log, err := telemetry.Read(filepath.Join("testdata", "kvbm-1.4.2-evict-telemetry.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	log.Engines = supported.Engines()
	text, err := os.ReadFile(filepath.Join("..", "enginelog", "testdata", "vllm-0.26.0-kvbm-1.4.2.log"))
	if err != nil {
		t.Fatal(err)
	}
	tool, err := enginelog.Find(supported.Engines(), "vllm")
	if err != nil {
		t.Fatal(err)
	}
	engine := tool.Read()
	for i, line := range strings.Split(string(text), "\n") {
		engine.Line("log", enginelog.Line{Number: i + 1, Text: line})
	}
	var records []openai.Record
	for i := range 8 {
		tokens := []int{6020, 6250, 6480, 6700, 7000, 7300, 7600, 7600}[i]
		for phase, of := range map[string]struct {
			cached int
			ms     int64
		}{"warm_A": {0, 145}, "replay_A": {tokens - []int{6, 7, 7, 7, 7, 7, 7, 6}[i], 432}} {
			r := testrun.Answered(i, 0, of.ms)
			r.Phase, r.TokensIn, r.TokensCached = phase, new(tokens), new(of.cached)
			records = append(records, r)
		}
	}
	return &EvidenceInput{
		Folder: rundir.Folder(t.TempDir()), Records: testrun.Sequence(records...), Telemetry: log, Hosts: []string{"host"}, Own: true, Streamed: true,
		Storage: []rundir.Storage{
			{Of: rundir.StorageOfRun, Path: "/runs/evict", FileSystem: "ext4", Drives: []rundir.Drive{{Device: "vda"}}},
			{Of: rundir.StorageOfKV, Path: "/kv", FileSystem: "ext4", Drives: []rundir.Drive{{Device: "vda"}}},
		},
		Verification: &evidence.Verification{
			First: "warm_A", Again: []string{"replay_A"}, All: []string{"warm_A", "pressure_B", "replay_A"}, Baseline: [2]string{"baseline_1", "baseline_2"},
			Alone: true, Pressed: true, BlockBytes: RoomOfLog(engine).BlockBytes, Given: evidence.Tiers{DiskFilter: evidence.FilterOff},
		},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func figureOf(t *testing.T, s evidence.Signal, name string) evidence.Figure {
	t.Helper()
	for _, f := range s.Figures {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no %s in %+v", name, s)
	return evidence.Figure{}
}

func missing(s evidence.Signal) map[string]string {
	all := map[string]string{}
	for _, m := range s.Missing {
		all[m.Name] = m.Reason
	}
	return all
}

func TestARealReadFromAVirtioDriveIsProven(t *testing.T) {
	s := recordedEviction(t).Verify().Signals
	back := s.SSDRehydrate
	if back.Grade != evidence.Proven || back.Reason != "" {
		t.Errorf("%+v", back)
	}
	const bytes = 1798832128
	for name, want := range map[string]float64{"kvbm_blocks_from_disk": 3431, "kvbm_blocks_from_disk_bytes": bytes, "process_read": bytes, "parent_cgroup_read": bytes} {
		if got := figureOf(t, back, name); got.Value != want || !got.Agrees {
			t.Errorf("%+v, want %v", got, want)
		}
	}
	if m := missing(back); len(m) != 2 || !strings.Contains(m["device"], "vda") || !strings.Contains(m["cgroup"], "/service above it") {
		t.Errorf("%v", m)
	}
	written := s.SSDOffload
	if got := figureOf(t, written, "kvbm_blocks_to_disk_bytes"); written.Grade != evidence.Proven || got.Value != 10986*524288 {
		t.Errorf("%+v", written)
	}
	if s.Reuse.Grade != evidence.Proven {
		t.Errorf("tokens from an SSD that is slower than computing are reused all the same: %+v", s.Reuse)
	}
}

func TestTheWorthOfARealReplayIsItsTimeAndItsWrites(t *testing.T) {
	w := recordedEviction(t).Verify().Signals.Worth
	for name, c := range map[string]struct {
		got  *float64
		want float64
	}{
		"tokens": {w.PromptTokens, 54950}, "cached": {w.CachedTokens, 54896}, "from the SSD": {w.SSDTokens, 54896}, "times": {w.TimeRatio, 432. / 145},
		"written in the scenario": {w.WrittenBytes, 10986 * 524288}, "per byte": {w.WrittenPerReadByte, 10986. / 3431}, "per token": {w.WrittenPerTokenBytes, 10986 * 524288. / 54896},
		"written by the engine": {w.EngineWrittenBlocks, 28515}, "read by it": {w.EngineReadBlocks, 3442}, "its ratio": {w.EngineRatio, 28515. / 3442},
	} {
		if c.got == nil || math.Abs(*c.got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if w.BreakEven == nil || w.BreakEven.Outcome != evidence.TooFewLengths || w.EnduranceShare != nil {
		t.Errorf("%+v", w)
	}
}

// A folder on another machine, a run without a size of a block, and one without any exporter.
func TestEachMissingWitnessHasItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*EvidenceInput)
		grade  evidence.Grade
		lacks  map[string]string
	}{
		"the tier is on another machine": {func(r *EvidenceInput) { r.Own = false }, evidence.Proven, map[string]string{"device": "no drive"}},
		"the tier's folder is unreadable": {func(r *EvidenceInput) {
			r.Storage[1] = rundir.Storage{Of: rundir.StorageOfKV, Missing: "permission denied"}
		}, evidence.Proven,
			map[string]string{"device": "no drive"}},
		"the tier is in memory": {func(r *EvidenceInput) { r.Storage[1].Drives, r.Storage[1].FileSystem = nil, "tmpfs" }, evidence.Proven, map[string]string{"device": "tmpfs"}},
		"the size of a block is not known": {func(r *EvidenceInput) { r.Verification.BlockBytes = 0 }, evidence.Consistent,
			map[string]string{"kvbm_block_bytes": "--set block.bytes"}},
		"no exporter":  {func(r *EvidenceInput) { r.Telemetry.Sources = r.Telemetry.Sources[1:] }, evidence.Consistent, map[string]string{"kernel": "uma-exporter"}},
		"no telemetry": {func(r *EvidenceInput) { r.Telemetry = nil }, evidence.NotObservable, map[string]string{"kvbm_blocks": "DYN_KVBM_METRICS", "kernel": "uma-exporter"}},
	} {
		r := recordedEviction(t)
		c.change(r)
		got := r.Verify().Signals.SSDRehydrate
		if got.Grade != c.grade {
			t.Errorf("%s: %+v", name, got)
		}
		for witness, words := range c.lacks {
			if !strings.Contains(missing(got)[witness], words) {
				t.Errorf("%s: %s is missing with %q, want %q", name, witness, missing(got)[witness], words)
			}
		}
	}
}
