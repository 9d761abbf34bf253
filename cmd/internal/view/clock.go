package view

import (
	"context"
	"time"
)

const (
	// clockInterval is the time between two looks at the clock, and clockSlack how far the newest sample may be ahead of
	// it: NTP steps a clock by less than that, and scrapes are aligned.
	clockInterval = time.Minute
	clockSlack    = 30 * time.Second
)

// newest returns the time of the newest sample; the zero time if there is none.
func (d *database) newest() time.Time {
	latest := d.local.Head().MaxTime()
	for _, block := range d.local.Blocks() {
		latest = max(latest, block.MaxTime())
	}
	if latest <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(latest)
}

// watchClock logs while the clock is behind the newest sample, once an hour: no sample is kept until it has caught up, since
// the samples of a series have one order. A clock that was set wrong for a moment, as of a machine without a battery before NTP
// answers, can cost days.
func (d *database) watchClock(ctx context.Context) {
	look := time.NewTicker(clockInterval)
	defer look.Stop()
	var logged time.Time
	for {
		if newest, now := d.newest(), time.Now(); newest.Sub(now) > clockSlack && now.Sub(logged).Abs() >= time.Hour {
			logged = now
			d.log.Error("the clock is behind the newest sample: no sample is kept until it has caught up; if that takes too long, end uma-view and move the folder of the samples away",
				"clock", now.UTC().Format(time.RFC3339), "newest", newest.UTC().Format(time.RFC3339), "missing_for", newest.Sub(now).Round(time.Second), "data", d.dir)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}
