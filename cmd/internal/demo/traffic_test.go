package demo

import (
	"testing"
)

func TestTheMachineMovesTheBytesOfTheEngineAtUnevenReports(t *testing.T) {
	var traffic tierTraffic
	process, engine := uint64(7*gib), int64(0) // the weights were read before
	rate := traffic.owed(0, process)
	for i := range 400 {
		for range []int{1, 3, 2, 1, 5, 1}[i%6] { // tenths of a second from one report to the next
			process += uint64(rate / 10)
		}
		if i < 300 {
			engine += 80 << 20
		}
		rate = traffic.owed(engine, process)
	}
	if moved := int64(process) - 7*gib; moved < engine*99/100 || moved > engine*105/100 {
		t.Errorf("%d bytes were moved, of %d", moved, engine)
	}
}
