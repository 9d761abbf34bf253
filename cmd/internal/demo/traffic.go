package demo

import "time"

// tierTraffic computes the rate of the drive traffic of the machine from the bytes that the engine reports to have
// moved to or from its tier. Reports come at uneven times: a rate alone would lose some of the bytes, or move them
// twice.
type tierTraffic struct {
	before uint64 // bytes of the process before the first of the engine
}

// settling is the time in which the machine catches up with the engine: two reports, so that the rate is even.
const settling = 200 * time.Millisecond

// caughtUp is the longest time after which the drive has moved all that the engine reports. A run waits for one interval of
// its telemetry after each load, so that with a shorter one a trial would count fewer bytes at the drive than the engine does.
const caughtUp = settling + takenUp

// owed returns the rate at which the machine catches up with the bytes of the engine, given the bytes of the process.
func (t *tierTraffic) owed(engine int64, process uint64) (bytesPerSecond int64) {
	if engine == 0 {
		t.before = process
		return 0
	}
	owed := engine - int64(process-t.before)
	return int64(float64(max(0, owed)) / settling.Seconds())
}
