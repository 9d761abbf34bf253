package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// stream is one request as a client reports it. All times are in milliseconds.
type stream struct {
	ID     string    `json:"id,omitempty"` // the server's, where the client keeps it
	TTFTMS float64   `json:"ttft_ms"`
	GapsMS []float64 `json:"gaps_ms,omitempty"`
	// GapMS is the mean of the gaps; clients without single gaps report it alone.
	GapMS   float64 `json:"gap_ms,omitempty"`
	TotalMS float64 `json:"total_ms,omitempty"`
	// LagMS is how much later than due it was sent, if the client reports it.
	LagMS float64 `json:"lag_ms,omitempty"`
}

func milliseconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e6 }

func (s served) ttft() float64 { return milliseconds(s.WrittenNS[0] - s.AcceptedNS) }

func (s served) gaps() []float64 {
	var gaps []float64
	for i := 1; i < len(s.WrittenNS); i++ {
		gaps = append(gaps, milliseconds(s.WrittenNS[i]-s.WrittenNS[i-1]))
	}
	return gaps
}

// readTruth reads the file of a server, in the order of requests. Streams that were cut before their first event are
// left out.
func readTruth(path string) ([]served, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all, err := decodeLines[served](file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all = slices.DeleteFunc(all, func(s served) bool { return len(s.WrittenNS) == 0 })
	slices.SortFunc(all, func(a, b served) int { return cmp.Compare(a.AcceptedNS, b.AcceptedNS) })
	return all, nil
}

func decodeLines[T any](from io.Reader) ([]T, error) {
	var all []T
	for decoder := json.NewDecoder(bufio.NewReader(from)); ; {
		var one T
		if err := decoder.Decode(&one); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}

// pair returns the part of the ground truth that the client reports, stream by stream. Without IDs these are the last
// ones: requests by which a client probes the server come first.
func pair(reported []stream, truth []served) ([]served, error) {
	if len(reported) == 0 {
		return nil, fmt.Errorf("the client reports no stream")
	}
	if len(reported) > len(truth) {
		return nil, fmt.Errorf("the client reports %d streams, the server knows %d", len(reported), len(truth))
	}
	if reported[0].ID == "" {
		return truth[len(truth)-len(reported):], nil
	}
	byID := make(map[string]served, len(truth))
	for _, s := range truth {
		byID[s.ID] = s
	}
	paired := make([]served, len(reported))
	for i, r := range reported {
		s, known := byID[r.ID]
		if !known {
			return nil, fmt.Errorf("the server knows no stream %q", r.ID)
		}
		paired[i] = s
	}
	return paired, nil
}

// afterRamp leaves out the streams that came first, and sorts the others by when they came.
func afterRamp(reported []stream, truth []served, ramp int) ([]stream, []served) {
	order := make([]int, len(truth))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(truth[a].AcceptedNS, truth[b].AcceptedNS) })
	var left []stream
	var leftTruth []served
	for _, i := range order[min(ramp, len(order)):] {
		left, leftTruth = append(left, reported[i]), append(leftTruth, truth[i])
	}
	return left, leftTruth
}

// quantile is of Hyndman and Fan's type 7, as NumPy's default; NaN for no values.
func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	h := p * float64(len(sorted)-1)
	below := int(h)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (h-float64(below))*(sorted[above]-sorted[below])
}

// meanOf returns NaN for no values.
func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
