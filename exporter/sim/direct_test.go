package sim

import (
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
)

// Whoever tells a process what to move may be late, and what it wanted then is all that may have been moved.
func TestADirectTransferEndsAtItsMostHoweverLateTheNextDemandIs(t *testing.T) {
	host := newHost(t, Config{})
	p := start(t, host, "engine", container)
	moved := func() (read, written int64) {
		snapshot := host.Collect()
		defer snapshot.Close()
		io, err := hostfs.ReadProcessIO(snapshot.Proc, p.PID)
		must(t, err)
		return int64(io.ReadBytes), int64(io.WriteBytes)
	}
	for _, most := range []int64{300 << 20, 700 << 20} {
		p.Demand(Demand{DirectReadBytesPerSecond: gib, DirectReadMostBytes: most, DirectWriteBytesPerSecond: gib, DirectWriteMostBytes: most / 2})
		host.Advance(time.Minute)
		if read, written := moved(); read != most || written != most/2 {
			t.Errorf("%d bytes read and %d written, of at most %d and %d", read, written, most, most/2)
		}
	}
	p.Demand(Demand{DirectReadBytesPerSecond: gib, DirectReadMostBytes: 1, DirectWriteBytesPerSecond: gib})
	host.Advance(time.Second)
	if read, written := moved(); read != 700<<20 || written < 1000<<20 {
		t.Errorf("%d bytes read, past what was asked for, and %d written, without a limit", read, written)
	}
}
