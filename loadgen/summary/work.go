package summary

import (
	"github.com/umascope/umascope/exporter/metric"
)

// Work is what the GPUs and the drives of a machine did in some phases.
type Work struct {
	Origin
	// GPUUtilizationMean is the mean, over the samples, of the utilization of the GPU that was busiest: the share of time
	// in which a kernel ran, however little of the GPU it used.
	GPUUtilizationMean *float64 `json:"gpu_utilization_mean_ratio,omitempty"`
	// Drives has the bytes of each drive, by its device name. A drive is absent if its counters do not cover the
	// phases or were reset in them.
	Drives map[string]DriveBytes `json:"drives,omitempty"`
}

// DriveBytes are the bytes that a drive transferred for all programs of the machine.
type DriveBytes struct {
	Read    *float64 `json:"read_bytes,omitempty"`
	Written *float64 `json:"written_bytes,omitempty"`
}

// work returns what the machine did in the windows of the reading; nil if nothing is known of it.
func (r *reading) work() *Work {
	w := Work{Origin: r.Origin, GPUUtilizationMean: r.meanLargest(metric.GPUUtilizationRatio), Drives: map[string]DriveBytes{}}
	for _, op := range []string{metric.OpRead, metric.OpWrite} {
		for _, family := range driveFamilies(op) {
			for _, series := range r.source.Find(family) {
				sum, ok := deltaOver(series, r.windows)
				if !ok || sum.Reset || r.still() || len(r.windows) == 0 {
					continue
				}
				name := series.Labels[string(metric.LabelDevice)]
				drive := w.Drives[name]
				if op == metric.OpRead {
					drive.Read = &sum.Delta
				} else {
					drive.Written = &sum.Delta
				}
				w.Drives[name] = drive
			}
		}
	}
	if w.GPUUtilizationMean == nil && len(w.Drives) == 0 {
		return nil
	}
	return &w
}

// heldPeak returns the largest GPU-held memory in the windows of the reading, summed over all GPUs, in bytes.
func (r *reading) heldPeak() *float64 {
	var peak *float64
	r.over(func(ns int64) {
		if held, ok := r.total(metric.GPUMemoryHeldBytes, ns); ok {
			keepIf(&peak, held, 1)
		}
	})
	return peak
}

// during returns the reading of a phase alone; nil if the telemetry does not cover it.
func (r *reading) during(phase string) *reading {
	if r == nil || !r.log.Bounded(r.source, phase) {
		return nil
	}
	return &reading{Machine: Machine{Origin: r.Origin}, in: r.in, log: r.log, source: r.source, windows: r.log.Windows(r.source, phase)}
}

// sum adds one of the two figures of all drives; nil if no drive has it.
func (w *Work) sum(value func(DriveBytes) *float64) *float64 {
	var sum *float64
	for _, drive := range w.Drives {
		if v := value(drive); v != nil {
			if sum == nil {
				sum = new(float64)
			}
			*sum += *v
		}
	}
	return sum
}

// ReadBytes is what all drives of the machine read.
func (w *Work) ReadBytes() *float64 { return w.sum(func(d DriveBytes) *float64 { return d.Read }) }

// WrittenBytes is what all drives of the machine wrote.
func (w *Work) WrittenBytes() *float64 {
	return w.sum(func(d DriveBytes) *float64 { return d.Written })
}
