package nvml

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestABriefPassLeavesOutWhatCostsMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.set(0, CallEnergy, Value{Number: 5000})
		r := NewReader(f, ReaderOptions{})
		snapshot(t, r)
		energy, fields, powers := f.count(0, CallEnergy), f.count(0, CallFields), f.count(0, CallPower)
		for range 3 {
			s, err := r.ReadBriefly(t.Context()).Snapshot(within(t, time.Second))
			if err != nil || s.Devices[0].PowerWatts == nil || s.Devices[0].EnergyJoules != nil || !s.Devices[0].ProcessesRead {
				t.Errorf("%v, %+v", err, s.Devices)
			}
		}
		if f.count(0, CallEnergy) != energy || f.count(0, CallFields) != fields || f.count(0, CallPower) != powers+3 {
			t.Errorf("%d more energy calls, %d fields, %d powers", f.count(0, CallEnergy)-energy, f.count(0, CallFields)-fields, f.count(0, CallPower)-powers)
		}
		if s := snapshot(t, r); s.Devices[0].EnergyJoules == nil || *s.Devices[0].EnergyJoules != 5 {
			t.Errorf("a whole pass after it: %+v", s.Devices)
		}
	})
}

func TestAWholePassThatSharesABriefOneLacksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.set(0, CallEnergy, Value{Number: 5000})
		r := NewReader(f, ReaderOptions{})
		snapshot(t, r)
		release := f.block(0, CallPower)
		brief := r.ReadBriefly(t.Context())
		synctest.Wait()
		whole := r.Read(t.Context())
		release()
		for name, pass := range map[string]*Pass{"whole": whole, "brief": brief} {
			if s, err := pass.Snapshot(within(t, time.Second)); err != nil || s.Devices[0].EnergyJoules == nil || s.Devices[0].PowerWatts == nil {
				t.Errorf("%s: %v, %+v", name, err, s.Devices)
			}
		}
	})
}
