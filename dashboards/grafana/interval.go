package grafana

import "time"

const (
	// defaultScrape is the data source's default of the scrape interval.
	defaultScrape = 15 * time.Second
	// mostSteps is the resolution above which Grafana lengthens a step, whatever the query sets: Prometheus returns no
	// more than 11 000 points per series.
	mostSteps = 11000
	// defaultPoints is the resolution when the width of a panel is unknown.
	defaultPoints = 1500
)

// pace is the timing of a query over its range.
type pace struct {
	step time.Duration // of the query
	rate time.Duration // $__rate_interval
}

// paceOf computes the steps of a query, by two stages of Grafana: the panel's (calculateInterval
// in its rangeutil: the range over the number of points, rounded, at least the scrape interval)
// and the data source's (calculatePrometheusInterval, calculateRateInterval and
// interpolateVariables in promlib). The least interval of a query, 0 for none, replaces the
// scrape interval in the second.
func paceOf(window Window, points int, scrape, least time.Duration) pace {
	if points <= 0 {
		points = defaultPoints
	}
	if scrape <= 0 {
		scrape = defaultScrape
	}
	bySize := roundInterval(window.Length() / time.Duration(points))
	interval := max(bySize, scrape)
	if least <= 0 {
		least = interval
	} else {
		scrape = least
	}
	return pace{
		step: max(bySize, least, roundInterval(window.Length()/mostSteps)),
		rate: max(interval+scrape, 4*scrape),
	}
}

// roundInterval rounds to intervals that are easy to read (RoundInterval in gtime of Grafana's plugin SDK).
func roundInterval(d time.Duration) time.Duration {
	const day = 24 * time.Hour
	for _, bound := range []struct{ upTo, rounded time.Duration }{
		{10 * time.Millisecond, time.Millisecond}, {15 * time.Millisecond, 10 * time.Millisecond},
		{35 * time.Millisecond, 20 * time.Millisecond}, {75 * time.Millisecond, 50 * time.Millisecond},
		{150 * time.Millisecond, 100 * time.Millisecond}, {350 * time.Millisecond, 200 * time.Millisecond},
		{750 * time.Millisecond, 500 * time.Millisecond}, {1500 * time.Millisecond, time.Second},
		{3500 * time.Millisecond, 2 * time.Second}, {7500 * time.Millisecond, 5 * time.Second},
		{12500 * time.Millisecond, 10 * time.Second}, {17500 * time.Millisecond, 15 * time.Second},
		{25 * time.Second, 20 * time.Second}, {45 * time.Second, 30 * time.Second},
		{90 * time.Second, time.Minute}, {210 * time.Second, 2 * time.Minute},
		{450 * time.Second, 5 * time.Minute}, {750 * time.Second, 10 * time.Minute},
		{1050 * time.Second, 15 * time.Minute}, {1500 * time.Second, 20 * time.Minute},
		{2700 * time.Second, 30 * time.Minute}, {5400 * time.Second, time.Hour},
		{9000 * time.Second, 2 * time.Hour}, {16200 * time.Second, 3 * time.Hour},
		{32400 * time.Second, 6 * time.Hour}, {64800 * time.Second, 12 * time.Hour},
		{7 * day, day}, {21 * day, 7 * day}, {42 * day, 30 * day},
	} {
		if d <= bound.upTo {
			return bound.rounded
		}
	}
	return 365 * day
}

// align rounds a time down to a multiple of a step since 1970 (AlignTimeRange in promlib, for a
// reader in UTC).
func align(t time.Time, step time.Duration) time.Time {
	if step <= 0 {
		return t
	}
	ns := t.UnixNano()
	rest := ns % int64(step)
	if rest < 0 {
		rest += int64(step)
	}
	return time.Unix(0, ns-rest).UTC()
}
