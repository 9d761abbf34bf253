package campaign

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// shownGates are the gates of a plan beside a machine, as open, shut or unseen.
func shownGates(t *testing.T, gates string, look *Look, machine func(time.Duration) Machine) (all []string) {
	t.Helper()
	p := parsed(t, "gates: "+gates+"\n")
	cell, err := p.Render("m", "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, g := range gatesNow(t.Context(), func(context.Context, *plan.Cell) Machine { return machine(time.Since(began)) }, cell, look) {
		state := map[bool]string{true: "open ", false: "shut "}[g.Open]
		if !g.Observed {
			state = "unseen "
		}
		all = append(all, state+g.Name+": "+g.Detail)
	}
	return all
}

func TestGatesAreShownBesideThePresentValues(t *testing.T) {
	warm := func(since time.Duration) Machine { // a quarter of the processors is busy
		return Machine{Celsius: number(62), MemFreeBytes: number(40 << 30), BusySeconds: number(since.Seconds() / 4), TotalSeconds: number(since.Seconds())}
	}
	synctest.Test(t, func(t *testing.T) {
		got := shownGates(t, "{gpu_celsius: 45, cpu_ratio: 10%, mem_free: 60GiB, p_state: P0, sm_clock: {min_hertz: 2.1e9, argv: [burn]}}", nil, warm)
		if want := []string{
			"open cooldown: the first run waits for none, each after it 5m0s", "unseen sm_clock: its command loads the GPU before each run, gate at least 2100 MHz",
			"unseen p_state: read while that command loads the GPU, gate P0",
			"shut gpu_celsius: GPU temperature 62 C, gate 45 C", "shut cpu_ratio: processors busy 25 %, gate 10 %", "shut mem_free: MemFree 40 GiB, gate at least 60 GiB",
			"open mem_free_within: MemFree differs by 0 B from the other arms' starts, gate 1 GiB (no other arm has been started yet)",
		}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		look := &Look{known: replay([]Event{
			{At: time.Now(), Event: eventGates, Arm: "b", MemFree: number(43 << 30), Celsius: number(50)}, {At: time.Now(), Event: eventUp, Arm: "b"},
		})}
		time.Sleep(2 * time.Minute)
		got := shownGates(t, "{within_first_celsius: 2, off: [cpu_ratio]}", look, warm)
		if want := []string{
			"shut cooldown: the last run ended 2m0s ago, gate 5m0s", "shut gpu_celsius: GPU temperature 62 C, gate 52 C",
			"shut mem_free_within: MemFree differs by 3 GiB from the other arms' starts, gate 1 GiB (40 GiB is free, 43 GiB was when b was started)",
		}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		got := shownGates(t, "{within_first_celsius: 2, off: [cooldown, mem_free_within]}", nil, func(time.Duration) Machine { return Machine{} })
		if want := []string{
			"unseen within_first_celsius: the first start sets the temperature, gate 2 C from it",
			"unseen cpu_ratio: neither an exporter nor the kernel of this machine shows it, gate 10 %",
		}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}
