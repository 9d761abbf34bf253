package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestOfALogOnlyThisStartIsRead has the figures of an earlier start before those of this one, which may say nothing.
func TestOfALogOnlyThisStartIsRead(t *testing.T) {
	log := filepath.Join(t.TempDir(), "engine.log")
	earlier := "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 35.70 GiB for max tokens in paged KV cache (86720).\n"
	if err := os.WriteFile(log, []byte(earlier+"starting\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[int64]string{0: earlier + "starting\n", int64(len(earlier)): "starting\n", 1 << 30: earlier + "starting\n"} {
		var out bytes.Buffer
		if there, err := copyLog(&out, log, from); !there || err != nil || out.String() != want {
			t.Errorf("from %d: %v, %v, %q", from, there, err, out.String())
		}
	}
}
