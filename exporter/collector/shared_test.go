package collector

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSharedReadingIsMadeOnceForAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var one shared[int]
		reads := 0
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				got, err := one.get(t.Context(), func(context.Context) (int, error) {
					time.Sleep(time.Second)
					reads++
					return 7, errors.ErrUnsupported
				})
				if got != 7 || !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%d, %v", got, err)
				}
			})
		}
		group.Wait()
		if reads != 1 {
			t.Errorf("read %d times", reads)
		}
	})
}

func TestWhoeverWaitsForASharedReadingWaitsAsLongAsItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var one shared[int]
		slow := func(context.Context) (int, error) {
			time.Sleep(time.Hour)
			return 7, nil
		}
		go one.get(t.Context(), slow)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if got, err := one.get(ctx, slow); got != 0 || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%d, %v after %v", got, err, time.Since(began))
		}
		time.Sleep(time.Hour)
		if got, err := one.get(ctx, slow); got != 7 || err != nil {
			t.Errorf("what is there is not given: %d, %v", got, err)
		}
	})
}

func TestSharedReadingThatPanicsIsAnErrorForTheOthers(t *testing.T) {
	var one shared[int]
	func() {
		defer func() { recover() }()
		one.get(t.Context(), func(context.Context) (int, error) { panic("x") })
	}()
	if _, err := one.get(t.Context(), nil); err == nil {
		t.Error("no error")
	}
}
