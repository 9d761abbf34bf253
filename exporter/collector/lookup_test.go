package collector

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a lookup whose n-th read gives n and takes as long as is said.
func slowly(takes *time.Duration, reads *atomic.Int32) *lookup[int] {
	return &lookup[int]{now: time.Now, read: func(ctx context.Context) (int, error) {
		n := int(reads.Add(1))
		select {
		case <-time.After(*takes):
			return n, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}}
}

// ask is what one collection does.
func ask(l *lookup[int]) (value int, ready bool, waited time.Duration, err error) {
	began := time.Now()
	ctx, cancel := patience(context.Background())
	defer cancel()
	l.refresh()
	value, ready, err = l.value(ctx)
	return value, ready, time.Since(began), err
}

func TestAQuickValueIsFreshAndReadTwiceAMinuteAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes, reads := time.Millisecond, new(atomic.Int32)
		l := slowly(&takes, reads)
		for second := range 120 {
			value, ready, waited, err := ask(l)
			if want := second/31 + 1; value != want || !ready || err != nil || waited > time.Millisecond {
				t.Errorf("second %d: %d, %v, %v after %v; want %d", second, value, ready, err, waited, want)
			}
			time.Sleep(time.Second - waited)
		}
	})
}

func TestAPageWaitsForItsFirstValueAndHardlyForLaterOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes, reads := 2*time.Second, new(atomic.Int32)
		l := slowly(&takes, reads)
		if value, ready, waited, err := ask(l); value != 1 || !ready || waited != takes || err != nil {
			t.Errorf("first: %d, %v, %v after %v", value, ready, err, waited)
		}
		time.Sleep(39 * time.Second)
		if _, _, waited, _ := ask(l); waited != 0 || reads.Load() != 1 {
			t.Errorf("a read of 2 s was followed by another after 39 s: %d reads, waited %v", reads.Load(), waited)
		}
		time.Sleep(time.Second)
		if value, ready, waited, err := ask(l); value != 1 || !ready || waited != lookupGrace || err != nil {
			t.Errorf("when it is due: %d, %v, %v after %v", value, ready, err, waited)
		}
		time.Sleep(takes)
		if value, ready, waited, _ := ask(l); value != 2 || !ready || waited != 0 {
			t.Errorf("afterwards: %d, %v after %v", value, ready, waited)
		}
	})
}

func TestAValueThatIsTooOldIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes, reads := time.Duration(0), new(atomic.Int32)
		l := slowly(&takes, reads)
		ask(l)
		takes = time.Hour // given up after lookupLimit
		time.Sleep(29 * time.Second)
		if value, ready, _, _ := ask(l); value != 1 || !ready {
			t.Errorf("%d, %v", value, ready)
		}
		time.Sleep(time.Hour)
		_, ready, waited, err := ask(l)
		if ready || err != nil || waited != DefaultTimeout/4 {
			t.Errorf("after an hour without a page: %v, %v after %v", ready, err, waited)
		}
		time.Sleep(lookupLimit)
		if _, ready, _, err := ask(l); !ready || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read that was given up: %v, %v", ready, err)
		}
	})
}

// TestAHungReadIsBegunOnceAndWaitedForOnce stands for a disk that no longer answers, which nothing interrupts.
func TestAHungReadIsBegunOnceAndWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var reads atomic.Int32
		l := &lookup[int]{now: time.Now, read: func(context.Context) (int, error) {
			n := reads.Add(1)
			<-release
			return int(n), nil
		}}
		for collection := range 10 {
			_, ready, waited, err := ask(l)
			late := time.Duration(collection)*time.Minute > lookupLimit
			if ready || reads.Load() != 1 || (waited > 0) != (collection == 0) || (err != nil) != late {
				t.Errorf("collection %d: ready %v, %d reads, waited %v, %v", collection, ready, reads.Load(), waited, err)
			}
			if late && !strings.Contains(err.Error(), "not answered") {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		}
		close(release)
		synctest.Wait()
		if value, ready, _, err := ask(l); value != 1 || !ready || err != nil {
			t.Errorf("when it answered at last: %d, %v, %v", value, ready, err)
		}
	})
}

func TestAPanicInALookupCostsItsValueOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lookup[int]{now: time.Now, read: func(context.Context) (int, error) { panic("broken drive") }}
		if _, ready, _, err := ask(l); !ready || err == nil || !strings.Contains(err.Error(), "broken drive") {
			t.Errorf("%v, %v", ready, err)
		}
	})
}

func TestAClockThatIsSetBackMakesNoValueOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, reads := time.Unix(1_800_000_000, 0), 0
		l := &lookup[int]{now: func() time.Time { return clock }, read: func(context.Context) (int, error) { reads++; return reads, nil }}
		for i, step := range []time.Duration{0, -time.Hour, time.Second, 2 * time.Hour} {
			clock = clock.Add(step)
			if value, ready, _, _ := ask(l); !ready || value != []int{1, 2, 2, 3}[i] {
				t.Errorf("step %d: %d, %v", i, value, ready)
			}
		}
	})
}
