package traffic

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits of stages: the whole plan is made before the run.
const (
	maxStages    = 1000
	maxStageTime = 365 * 24 * time.Hour
	// MaxSlots bounds the requests that a closed loop keeps in flight.
	MaxSlots = 1 << 16
)

// Stage is a stretch of time at one level: arrivals a second of an open process, slots of a
// closed one. Level 0 is a pause.
type Stage struct {
	Duration time.Duration `json:"duration_ns"`
	Level    float64       `json:"level"`
}

// ParseStages reads DURATION:LEVEL pairs, such as 30s:10,60s:50. The level jumps from one stage
// to the next; it does not ramp.
func ParseStages(text string) ([]Stage, error) {
	var stages []Stage
	for part := range strings.SplitSeq(text, ",") {
		length, level, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("%q is not DURATION:LEVEL, such as 30s:10", part)
		}
		d, err := time.ParseDuration(length)
		if err != nil {
			return nil, fmt.Errorf("%q is not a duration, such as 30s", length)
		}
		l, err := strconv.ParseFloat(level, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", level)
		}
		stages = append(stages, Stage{d, l})
		if len(stages) > maxStages {
			return nil, fmt.Errorf("more than %d stages", maxStages)
		}
	}
	return stages, checkStages(stages, rateLevel)
}

// TotalTime returns the sum of the stages' durations.
func TotalTime(stages []Stage) time.Duration {
	var total time.Duration
	for _, s := range stages {
		total += s.Duration
	}
	return total
}

// rateLevel returns an error if the level cannot be a rate. The negation catches NaN.
func rateLevel(level float64) error {
	if !(level >= 0 && level <= MaxRatePerSecond) {
		return fmt.Errorf("level %v is not from 0 to %.0f", level, MaxRatePerSecond)
	}
	return nil
}

// wholeLevel returns an error if the level cannot be a number of slots.
func wholeLevel(level float64) error {
	if !(level >= 0 && level <= MaxSlots) || level != math.Trunc(level) {
		return fmt.Errorf("level %v is not a whole number of slots from 0 to %d", level, MaxSlots)
	}
	return nil
}

func checkStages(stages []Stage, level func(float64) error) error {
	var total time.Duration
	highest := 0.0
	for _, s := range stages {
		if s.Duration <= 0 || s.Duration > maxStageTime {
			return fmt.Errorf("a stage of %s is not longer than 0s and up to a year", s.Duration)
		}
		if err := level(s.Level); err != nil {
			return err
		}
		if total += s.Duration; total > maxStageTime {
			return errors.New("the stages take longer than a year")
		}
		highest = max(highest, s.Level)
	}
	if len(stages) > 0 && highest == 0 {
		return errors.New("no stage has a level above 0")
	}
	return nil
}

// staged returns the function from a position to its time under stages of rates, until their end; positions must
// ascend.
func staged(stages []Stage) func(position float64) (time.Duration, bool) {
	var begun time.Duration // start of the first remaining stage
	var passed float64      // position at that moment
	return func(position float64) (time.Duration, bool) {
		for ; len(stages) > 0; stages = stages[1:] {
			s := stages[0]
			if whole := s.Duration.Seconds() * s.Level; position >= passed+whole {
				passed += whole
				begun += s.Duration
				continue
			}
			return begun + min(duration((position-passed)/s.Level), s.Duration), true
		}
		return 0, false
	}
}
