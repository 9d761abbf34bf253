package exporter

import (
	"net/http"
	"runtime"
	"testing"
	"time"
)

// TestManyScrapesLeaveNothingBehind counts heap and goroutines of an exporter of a whole machine,
// GPU included, before and after.
func TestManyScrapesLeaveNothingBehind(t *testing.T) {
	handler := openHostNamed(t, "h200-idle").Handler()
	scrape := func(times int) {
		for range times {
			if response := get(t, handler, "/metrics"); response.StatusCode != http.StatusOK {
				t.Fatal(response.Status)
			}
		}
	}
	scrape(100) // what is kept for good is there now
	goroutines, heap := settled(0)
	scrape(2000)
	goroutinesAfter, heapAfter := settled(goroutines)
	if goroutinesAfter > goroutines {
		t.Errorf("%d goroutines, %d before 2000 scrapes", goroutinesAfter, goroutines)
	}
	// 131 bytes for each scrape; a series kept by mistake would be 200.
	if heapAfter > heap+256<<10 {
		t.Errorf("%d bytes of heap, %d before 2000 scrapes", heapAfter, heap)
	}
}

// settled returns how many goroutines and bytes of heap there are when all is still: a collector's
// goroutine may still be on its way out when its page is served, down to as many as there may be.
func settled(most int) (goroutines int, heap uint64) {
	for wait := 0; runtime.NumGoroutine() > most && wait < 200; wait++ {
		time.Sleep(time.Millisecond)
	}
	for range 3 { // pools are emptied in two
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return runtime.NumGoroutine(), stats.HeapAlloc
}
