package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// sample is what nvidia-smi reports of the board at a moment.
type sample struct {
	at             time.Time
	instant, means float64 // watts: now, and the driver's mean of the last second
}

// readPower reads nvidia-smi's rows of timestamp, power.draw.instant and power.draw.average without units, in UTC.
func readPower(csv string) ([]sample, error) {
	var all []sample
	for line := range strings.Lines(csv) {
		cells := strings.Split(strings.TrimSpace(line), ", ")
		if len(cells) < 3 {
			continue // cut off when nvidia-smi was stopped
		}
		at, err := time.Parse("2006/01/02 15:04:05.000", cells[0])
		if err != nil {
			return nil, fmt.Errorf("power.csv: %w", err)
		}
		instant, err := strconv.ParseFloat(cells[1], 64)
		if err != nil {
			return nil, fmt.Errorf("power.csv: %w", err)
		}
		means, err := strconv.ParseFloat(cells[2], 64)
		if err != nil {
			return nil, fmt.Errorf("power.csv: %w", err)
		}
		all = append(all, sample{at, instant, means})
	}
	return all, nil
}

// joules integrates power over a window by trapezoids. It fails if the samples leave more than a second of it out.
func joules(all []sample, from, to time.Time, power func(sample) float64) (float64, error) {
	sum, last := 0.0, from
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		begin, end := later(a.at, from), earlier(b.at, to)
		if !end.After(begin) {
			continue
		}
		if b.at.Sub(a.at) > time.Second {
			return 0, fmt.Errorf("no sample of power for %v", b.at.Sub(a.at))
		}
		at := func(t time.Time) float64 {
			return power(a) + (power(b)-power(a))*t.Sub(a.at).Seconds()/b.at.Sub(a.at).Seconds()
		}
		sum += (at(begin) + at(end)) / 2 * end.Sub(begin).Seconds()
		last = end
	}
	if left := to.Sub(last); left > 0 || len(all) == 0 || all[0].at.After(from) {
		return 0, fmt.Errorf("the samples of power do not cover the measured phase")
	}
	return sum, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
