package runner

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnInterruptedRunShowsForHowLongItWaits holds that people see why the run goes on after Ctrl-C, and until when.
func TestAnInterruptedRunShowsForHowLongItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meter{}
		ctx, interrupt := context.WithCancel(t.Context())
		i, end := newInterrupts(ctx, nil, 30*time.Second, m.wait, slog.New(slog.DiscardHandler))
		defer end()
		if p := m.progress(0); p.Waiting != "" {
			t.Errorf("before: %q", p.Waiting)
		}
		interrupt()
		<-i.stop.Done()
		synctest.Wait()
		time.Sleep(10 * time.Second)
		if p := m.progress(0); p.Waiting != "requests in flight to end; interrupt again to cancel them" || p.WaitingSeconds == nil || *p.WaitingSeconds != 20 {
			t.Errorf("%+v", p)
		}
		if i.cut.Err() != nil {
			t.Error("requests in flight are cut off")
		}
	})
}
