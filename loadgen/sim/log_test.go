package sim

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheLogIsKVBMsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tiny()
		var lines []string
		c.OnLog = func(line string) { lines = append(lines, line[strings.Index(line, ": ")+2:]) }
		e := start(t, c)
		for range 2 { // the first is shown at once, the others five seconds later
			for i := range 4 {
				askFor(t, e, promptOf("A"+letter(i), 161), "")
			}
			time.Sleep(6 * time.Second)
		}
		askFor(t, e, promptOf("Aa", 161), "")
		want := []string{
			"DiskStorage created: fd=188, file=/simulated/dynamo-kvbm-disk-cache-000000, size=3276800 bytes",
			"Unlinking temp file (fd=188, file=/simulated/dynamo-kvbm-disk-cache-000000). File will be deleted when fd closes.",
			"KvConnectorLeader initialized with worker_id: simulated-worker",
			"KVBM [simulated-worker] Cache Hit Rates - Host: 0.0% (0/10), Disk: 0.0% (0/10)",
		}
		if len(lines) != 6 || !slices.Equal(lines[:4], want) {
			t.Fatalf("%q", lines)
		}
		for _, line := range lines[4:] {
			if !strings.HasPrefix(line, "KVBM [simulated-worker] Cache Hit Rates - Host: ") {
				t.Errorf("%q", line)
			}
		}
	})
}
