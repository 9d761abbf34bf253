//go:build proof

package demo

import (
	"bytes"
	"testing"
	"time"
)

// The page draws the event over the curves: where it says that the room is hot, the room has to be.
func TestTheHeatIsOverWhenTheRoomCools(t *testing.T) {
	c, _ := startScraper(t, testSpeed, usualRhythm())
	m := c.machines[1]
	s := &showing{shown: &shown{}, scraper: c, progress: &progress{out: &bytes.Buffer{}, began: time.Now()}}
	if err := s.heatUp(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if len(s.events) != 1 {
		t.Fatalf("%d events", len(s.events))
	}
	e := s.events[0]
	const slack = 20 * time.Second // the machine's clock is read where a test of a busy one comes to it
	if lasted := e.Until.Sub(e.From); lasted < heating-slack || lasted > 2*heating+slack {
		t.Errorf("it is said to have been hot for %v, and was for %v or up to twice that", lasted, heating)
	}
	if !c.fires(heatAlert, m.name) || c.fires(heatAlert, c.machines[0].name) {
		t.Errorf("alerts %+v", c.firings())
	}
	if after := m.stage.host.Now().Sub(e.Until); after < around-slack || after > cooling-slack {
		t.Errorf("%v to cool down", after)
	}
}
