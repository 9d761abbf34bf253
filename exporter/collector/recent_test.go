package collector

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecentOutcomesAreThoseOfScrapesThatEndedNotLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		counted := scripted("counted", func(context.Context, *Sample, *Batch) error { runs.Add(1); return nil })
		r := newTestRunner(nil, counted, quick("other"))
		recent := func(want int32) {
			t.Helper()
			outcomes, err := r.Recent(t.Context(), 5*time.Second, "counted")
			if err != nil || len(outcomes) != 1 || outcomes[0].State != OK || outcomes[0].Spec.Name != "counted" || runs.Load() != want {
				t.Errorf("%+v, %v after %d runs, want %d", outcomes, err, runs.Load(), want)
			}
		}
		recent(1)
		time.Sleep(4 * time.Second)
		recent(1)
		mustScrape(t, r, t.Context())
		time.Sleep(4 * time.Second)
		recent(2)
		time.Sleep(2 * time.Second)
		recent(3)
		if _, err := r.Recent(t.Context(), time.Second, "none"); err == nil {
			t.Error("an unknown collector is accepted")
		}
	})
}
