package runner

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

func TestADiskThatFillsUpFailsTheRun(t *testing.T) {
	r, _ := runOf(t, engine(t, 100*time.Microsecond), "--duration=1h", "--warmup=0", "--output-tokens=2")
	r.openLines = func(_ string, failed func(error)) (*rundir.Lines, error) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		return rundir.WriteLines(full, failed), err
	}
	_, err := r.make(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "are lost") {
		t.Errorf("error %v", err)
	}
}
