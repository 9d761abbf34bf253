package sim

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestUseIsReportedWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := paced()
		var reports []Use
		c.OnUse = func(u Use) { reports = append(reports, u) }
		e, stop := startFor(t, c)
		began := time.Now()
		post(t.Context(), e, path, tenTokens("5")) // 65 ms of the first tenth of a second
		var all sync.WaitGroup
		time.Sleep(time.Until(began.Add(120 * time.Millisecond)))
		for range 2 {
			all.Go(func() { post(t.Context(), e, path, tenTokens("300")) })
		}
		time.Sleep(time.Until(began.Add(350 * time.Millisecond)))
		stop()
		all.Wait()
		if len(reports) != 6 {
			t.Fatalf("%d reports, two at the start, in 350 ms and at the end: %+v", len(reports), reports)
		}
		loaded, idle, busy, end := reports[0], reports[2], reports[4], reports[5]
		if loaded.WeightsRead != 16<<30 || loaded.DeviceBytes != 17<<30 || loaded.KVCapacityTokens != 0 {
			t.Errorf("before the KV cache is made: %+v", loaded)
		}
		if idle.Running != 0 || idle.KVTokens != 0 || idle.BusyRatio < 0.64 || idle.BusyRatio > 0.66 {
			t.Errorf("first tenth: %+v", idle)
		}
		if busy.Running != 2 || busy.BusyRatio != 1 || busy.KVTokens <= 20 || busy.KVCapacityTokens != c.KVCacheTokens {
			t.Errorf("under load: %+v", busy)
		}
		if end.Running+end.Waiting+end.KVTokens != 0 || end.DeviceBytes+end.PinnedBytes != 0 || end.GeneratedTokens == 0 {
			t.Errorf("at the end: %+v", end)
		}
		if want := int64(16<<30 + 1<<30 + c.KVCacheTokens*128<<10); busy.DeviceBytes != want {
			t.Errorf("%d bytes on the device, want weights, overhead and KV cache: %d", busy.DeviceBytes, want)
		}
	})
}

// TestAnEngineReportsItsMemoryBeforeItAcceptsRequests: a measurement when the engine is ready would otherwise miss the
// cache.
func TestAnEngineReportsItsMemoryBeforeItAcceptsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := paced()
		var e *Engine
		var mutex sync.Mutex
		var opened []bool
		c.OnUse = func(u Use) {
			if u.KVCapacityTokens > 0 && u.DeviceBytes > 17<<30 {
				mutex.Lock()
				opened = append(opened, serving(e))
				mutex.Unlock()
			}
			time.Sleep(time.Second) // a machine that takes its time
		}
		var err error
		if e, err = New(c); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var ran sync.WaitGroup
		ran.Go(func() { _ = e.Run(ctx) })
		time.Sleep(10*time.Second + useInterval/2) // at a whole second a report may just end
		synctest.Wait()
		mutex.Lock()
		reported := slices.Clone(opened)
		mutex.Unlock()
		if len(reported) == 0 || reported[0] || !serving(e) {
			t.Errorf("reports with the cache, and whether requests were accepted then: %v; now %v", reported, serving(e))
		}
		cancel()
		ran.Wait()
	})
}
