package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// What a percentile may be off by in a run that is right.
const (
	mostSeconds = 0.001
	mostRatio   = 0.02
)

// outcome is a run beside its truth.
type outcome struct {
	Valid   bool
	Reasons []summary.Reason
	// Least and Most are how far the worst percentile is off, in multiples of what is allowed: by the end of the truth's
	// interval that is nearer, and by the other. Worst names it.
	Least, Most float64
	Worst       string
}

// right and wrong are false both where the server's own stamps leave it open.
func (o outcome) right() bool { return o.Most <= 1 }
func (o outcome) wrong() bool { return o.Least > 1 }

// values are a latency of all requests, in seconds: by the least and by the most that the server's stamps allow.
type values struct{ low, high []float64 }

func (v *values) add(low, high int64) {
	v.low, v.high = append(v.low, float64(low)/1e9), append(v.high, float64(high)/1e9)
}

// judge compares the percentiles of a run with the percentiles by the server's stamps of the same requests.
func judge(folder, truth string) (outcome, error) {
	text, err := os.ReadFile(truth)
	if err != nil {
		return outcome{}, err
	}
	var all []stamped
	if err := json.Unmarshal(text, &all); err != nil {
		return outcome{}, err
	}
	byID := map[string]stamped{}
	for _, one := range all {
		byID[one.ID] = one
	}
	var s summary.Summary
	if text, err = os.ReadFile(filepath.Join(folder, "summary.json")); err != nil {
		return outcome{}, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return outcome{}, err
	}
	var ttft, e2e, tpot, gaps values
	for record, err := range summary.Records(filepath.Join(folder, "requests.jsonl")) {
		if err != nil {
			return outcome{}, err
		}
		if record.Phase != "measure" || record.Status != openai.StatusOK {
			continue
		}
		one := byID[record.ServerRequestID]
		n := len(one.Written)
		if n != len(record.ArrivalsNS) || n < 2 {
			return outcome{}, fmt.Errorf("request %s has %d arrivals, the server wrote %d", record.ServerRequestID, len(record.ArrivalsNS), n)
		}
		first, last := one.Written[0], one.Written[n-1]
		ttft.add(first[0]-one.ReceivedNS, first[1]-one.ReceivedNS)
		e2e.add(last[0]-one.ReceivedNS, last[1]-one.ReceivedNS)
		tpot.add((last[0]-first[1])/int64(n-1), (last[1]-first[0])/int64(n-1))
		for i := 1; i < n; i++ {
			gaps.add(max(0, one.Written[i][0]-one.Written[i-1][1]), one.Written[i][1]-one.Written[i-1][0])
		}
	}
	o := outcome{Valid: s.Valid, Reasons: s.InvalidReasons}
	o.compare("TTFT", s.Latency.TTFT.Send, ttft)
	o.compare("duration", s.Latency.E2E.Send, e2e)
	o.compare("TPOT", s.Latency.TPOT.Send, tpot)
	o.compare("chunk gap", s.Latency.ChunkGap.Send, gaps)
	return o, nil
}

func (o *outcome) compare(name string, d *summary.Distribution, truth values) {
	slices.Sort(truth.low)
	slices.Sort(truth.high)
	for _, of := range []struct {
		name     string
		p        float64
		reported *float64
	}{{"p25", .25, d.P25}, {"p50", .5, d.P50}, {"p75", .75, d.P75}, {"p90", .9, d.P90}, {"p95", .95, d.P95}, {"p99", .99, d.P99}, {"p999", .999, d.P999}} {
		if of.reported == nil {
			continue
		}
		low, high := quantile(truth.low, of.p), quantile(truth.high, of.p)
		allowed := max(mostSeconds, mostRatio**of.reported)
		near := max(0, low-*of.reported, *of.reported-high) / allowed
		far := max(math.Abs(*of.reported-low), math.Abs(*of.reported-high)) / allowed
		if o.Least = max(o.Least, near); far > o.Most {
			o.Most, o.Worst = far, fmt.Sprintf("%s %s %.2f ms, truly %.2f to %.2f", name, of.name, 1e3**of.reported, 1e3*low, 1e3*high)
		}
	}
}

// quantile is of type 7.
func quantile(sorted []float64, p float64) float64 {
	h := float64(len(sorted)-1) * p
	low := int(h)
	return sorted[low] + (h-float64(low))*(sorted[min(low+1, len(sorted)-1)]-sorted[low])
}
