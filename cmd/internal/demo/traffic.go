package demo

import "time"

// tierTraffic is what the engine says that it moves to or from its tier on the drive, which the machine has to move.
// Reports come at uneven times: a rate alone would lose some of it, or move it twice.
type tierTraffic struct {
	before uint64 // what the process had moved before the engine moved anything
}

// settling is in what time the machine makes up for what it owes: two reports, so that it goes on evenly.
const settling = 200 * time.Millisecond

// owed is the rate at which the machine comes to what the engine has moved, from what the process has.
func (t *tierTraffic) owed(engine int64, process uint64, speed float64) (bytesPerSecond int64) {
	if engine == 0 {
		t.before = process
		return 0
	}
	owed := engine - int64(process-t.before)
	return int64(float64(max(0, owed)) / settling.Seconds() / speed)
}
