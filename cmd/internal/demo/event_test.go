//go:build proof

package demo

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/exporter/metric"
)

// watch plays an event and looks at the machine again and again while it lasts.
func (s *stage) watch(t *testing.T, e event, see func(now time.Time, p page)) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- e.play(t.Context(), s) }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%s: %v", e.name, err)
			}
			return
		case <-time.After(5 * time.Millisecond):
			see(time.Now(), s.look(t))
		}
	}
}

// stretch is how long something has been so without a break, at most.
type stretch struct {
	since   time.Time
	longest time.Duration
}

func (s *stretch) note(now time.Time, so bool) {
	switch {
	case !so:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since = now
	default:
		s.longest = max(s.longest, now.Sub(s.since))
	}
}

// eventOf is the one that an alert must tell of.
func eventOf(t *testing.T, alert string) event {
	t.Helper()
	all := events()
	i := slices.IndexFunc(all, func(e event) bool { return e.alert == alert })
	if i < 0 {
		t.Fatalf("no event is of %s", alert)
	}
	return all[i]
}

func TestEventsNameAlertsThatThereAre(t *testing.T) {
	var known []string
	for _, group := range alerts.Groups() {
		for _, a := range group.Alerts {
			known = append(known, a.Name)
		}
	}
	for _, e := range events() {
		if !slices.Contains(known, e.alert) {
			t.Errorf("%s: there is no alert %s", e.name, e.alert)
		}
	}
}

func TestAWorkerIsKilledAndItsContainerTellsOfIt(t *testing.T) {
	s := play(t, timeFactor)
	scope := "cgroup=" + dockerScope("51300002")
	var before, after stretch
	s.watch(t, eventOf(t, "ContainerOOMKill"), func(now time.Time, p page) {
		kills, there := p.sum(metric.CgroupMemoryEventsTotal, scope, "event="+metric.EventOOMKill)
		before.note(now, there && kills == 0)
		after.note(now, there && kills == 1)
	})
	// Two scrapes, five seconds apart, have to see either.
	if before.longest < scaled(11*time.Second) || after.longest < scaled(11*time.Second) {
		t.Errorf("no kill was told for %v, one for %v", before.longest, after.longest)
	}
	if kills := s.host.Truth().Kills; kills != 1 {
		t.Errorf("%d processes were killed", kills)
	}
}

func TestHardlyAnyMemoryIsLeftForLongEnoughAndThenAgainALot(t *testing.T) {
	s := play(t, timeFactor)
	s.ready(t, nativeArm())
	var low stretch
	s.watch(t, eventOf(t, "MemoryAvailableLow"), func(now time.Time, p page) {
		low.note(now, p.must(t, metric.MemoryAvailableBytes) < 0.03*p.must(t, metric.MemoryPoolBytes))
	})
	if low.longest < scaled(25*time.Second) { // 15 that the alert waits for, and two scrapes
		t.Errorf("hardly any memory is left for %v", low.longest)
	}
	if err := pause(t.Context(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if left := s.host.AvailableBytes(); left < 8*gib {
		t.Errorf("%.1f GiB are available afterwards", float64(left)/gib)
	}
	if kills := s.host.Truth().Kills; kills != 0 || !s.inference.process.Status().Alive {
		t.Errorf("%d processes were killed", kills)
	}
}

func TestTheGPUGetsHotForLongEnoughAndCoolsDown(t *testing.T) {
	s := play(t, timeFactor)
	s.ready(t, nativeArm())
	var hot stretch
	s.watch(t, eventOf(t, "GPUHot"), func(now time.Time, p page) {
		hot.note(now, p.must(t, metric.GPUTemperatureCelsius) > 92)
	})
	if hot.longest < scaled(80*time.Second) { // a minute that the alert waits for, and some scrapes
		t.Errorf("hot for %v", hot.longest)
	}
	if left := s.look(t).must(t, metric.GPUTemperatureCelsius); left > 60 {
		t.Errorf("%v degrees in the end", left)
	}
}

// An alert waits for what it sees, and a busy computer may keep it from looking.
func TestTheHeatLastsUntilItIsSeenButNotForEver(t *testing.T) {
	s := play(t, timeFactor)
	for _, after := range []int{3, 1000} { // so many looks
		looks := 0
		if err := heat(t.Context(), s, heating, func() bool { looks++; return looks == after }); err != nil {
			t.Fatal(err)
		}
		if most := int(heating / unseenYet); looks != min(after, most) {
			t.Errorf("seen at look %d, it is looked %d times, want at most %d", after, looks, most)
		}
	}
}

func TestAnEventThatIsCutShortLeavesTheMachineAsItWas(t *testing.T) {
	for _, e := range events() {
		s := play(t, timeFactor)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if err := e.play(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", e.name, err)
		}
		cancel()
		if err := pause(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if left := s.host.AvailableBytes(); left < 100*gib {
			t.Errorf("%s: %.1f GiB are available afterwards", e.name, float64(left)/gib)
		}
		if held, found := s.look(t).sum(metric.GPUProcessMemoryBytes, "comm=gpu-burn"); found {
			t.Errorf("%s: the furnace holds %v bytes", e.name, held)
		}
	}
}
