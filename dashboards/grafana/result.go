package grafana

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// result is the answer to a query.
type result struct {
	series   []series
	warnings []string
}

// series is one series of an answer, as the page gets it.
type series struct {
	// Name is the name in the legend, set by the query.
	Name       string            `json:"name"`
	Labels     map[string]string `json:"labels"`
	Points     []point           `json:"points,omitempty"`
	Histograms []histogram       `json:"histograms,omitempty"`
}

// point is a value at a time. The value is a text, as Prometheus sends it: NaN and infinities are not numbers in JSON.
type point struct {
	at    time.Time
	value string
}

// MarshalJSON writes milliseconds and the value.
func (p point) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{p.at.UnixMilli(), p.value})
}

// UnmarshalJSON reads seconds and the value, as Prometheus writes them.
func (p *point) UnmarshalJSON(raw []byte) error {
	var seconds float64
	if err := pair(raw, &seconds, &p.value); err != nil {
		return err
	}
	p.at = time.UnixMilli(int64(seconds*1000 + 0.5))
	return nil
}

// histogram is a native histogram at a time.
type histogram struct {
	at      time.Time
	buckets []bucket
}

// MarshalJSON writes milliseconds and the buckets.
func (h histogram) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{h.at.UnixMilli(), h.buckets})
}

// UnmarshalJSON reads seconds, and of the histogram its buckets.
func (h *histogram) UnmarshalJSON(raw []byte) error {
	var seconds float64
	var body struct{ Buckets []bucket }
	if err := pair(raw, &seconds, &body); err != nil {
		return err
	}
	h.at, h.buckets = time.UnixMilli(int64(seconds*1000+0.5)), body.Buckets
	return nil
}

// bucket has the bounds of a bucket and its count, as texts: bounds may be infinite.
type bucket struct{ from, to, count string }

// MarshalJSON writes bounds and count.
func (b bucket) MarshalJSON() ([]byte, error) { return json.Marshal([]string{b.from, b.to, b.count}) }

// UnmarshalJSON reads which bounds are inclusive, the bounds and the count.
func (b *bucket) UnmarshalJSON(raw []byte) error {
	var rule int
	parts := []any{&rule, &b.from, &b.to, &b.count}
	return tuple(raw, parts)
}

func pair(raw []byte, first, second any) error { return tuple(raw, []any{first, second}) }

// tuple reads a list of values of different types.
func tuple(raw []byte, parts []any) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	if len(list) != len(parts) {
		return fmt.Errorf("%d values where %d are expected", len(list), len(parts))
	}
	for i, part := range parts {
		if err := json.Unmarshal(list[i], part); err != nil {
			return err
		}
	}
	return nil
}

// decode reads the data of an answer to a query.
func decode(raw json.RawMessage) (result, error) {
	var data struct {
		ResultType string
		Result     json.RawMessage
	}
	if err := json.Unmarshal(raw, &data); err != nil {
		return result{}, err
	}
	switch data.ResultType {
	case "scalar":
		var p point
		err := json.Unmarshal(data.Result, &p)
		return result{series: []series{{Labels: map[string]string{}, Points: []point{p}}}}, err
	case "vector", "matrix":
		found, err := decodeSeries(data.Result)
		return result{series: found}, err
	}
	return result{}, errors.New("an answer of the kind " + data.ResultType + " is not known here")
}

// decodeSeries reads vectors and matrices: the former have one value for a series, the latter many.
func decodeSeries(raw json.RawMessage) ([]series, error) {
	var list []struct {
		Metric     map[string]string
		Value      *point
		Values     []point
		Histogram  *histogram
		Histograms []histogram
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	found := make([]series, 0, len(list))
	for _, one := range list {
		s := series{Labels: one.Metric, Points: one.Values, Histograms: one.Histograms}
		if one.Value != nil {
			s.Points = append(s.Points, *one.Value)
		}
		if one.Histogram != nil {
			s.Histograms = append(s.Histograms, *one.Histogram)
		}
		found = append(found, s)
	}
	return found, nil
}
