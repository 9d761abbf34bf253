package exporter

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRecordingOntoTheFileThatIsReplayedIsRefused(t *testing.T) {
	dir := t.TempDir()
	replayed, linked := filepath.Join(dir, "gpu.jsonl"), filepath.Join(dir, "other.jsonl")
	must(t, os.WriteFile(replayed, []byte(integratedRecording), 0o600))
	must(t, os.Symlink(replayed, linked))
	for _, target := range []string{replayed, linked} {
		var out, log bytes.Buffer
		code := Run(t.Context(), []string{"--once", "--nvml.replay", replayed, "--nvml.record", target}, &out, &log)
		if want := "uma-exporter: --nvml.record " + target + ": is the file that is replayed\n"; code != exitInput || log.String() != want || out.Len() != 0 {
			t.Errorf("exit %d, %q", code, log.String())
		}
	}
	if kept, err := os.ReadFile(replayed); err != nil || string(kept) != integratedRecording {
		t.Errorf("the recording is gone: %v, %d bytes", err, len(kept))
	}
}

func TestTrafficIsShownOnlyWhenItIsAskedFor(t *testing.T) {
	replayed := filepath.Join(t.TempDir(), "gpu.jsonl")
	recording := strings.ReplaceAll(integratedRecording, "NVIDIA GB10", "NVIDIA H200") +
		`{"device":0,"call":"nvmlDeviceGetPcieThroughput_TX","return":0,"value":{"number":7}}` + "\n"
	must(t, os.WriteFile(replayed, []byte(recording), 0o600))
	for _, asked := range []bool{true, false} {
		var out, log bytes.Buffer
		args := []string{"--once", "--nvml.replay", replayed}
		if asked {
			args = append(args, "--gpu.pcie")
		}
		if code := Run(t.Context(), args, &out, &log); code != exitDone {
			t.Fatalf("exit %d, %s", code, log.String())
		}
		if shown := strings.Contains(out.String(), `uma_gpu_pcie_throughput_bytes_per_second{direction="tx",uuid="GPU-1"} 7000`); shown != asked {
			t.Errorf("asked %v, shown %v", asked, shown)
		}
	}
}
