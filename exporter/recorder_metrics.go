package exporter

import (
	"bytes"
	"context"
	"net/http"

	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/recorder"
)

// record records until ctx ends. The function that it returns waits for the record of the stop; it is called when serving has
// ended, for whatever reason.
func (e *Exporter) record(ctx context.Context) (stop func()) {
	if e.recorder == nil {
		return func() {}
	}
	if err := keepInMemory(); err != nil {
		e.settings.Logger.Warn("the recorder may stand still while memory runs out", "reason", err, "fix", "LimitMEMLOCK=infinity, as in the service's drop-in recorder.conf, or ulimit -l unlimited")
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.recorder.Run(ctx)
	}()
	return func() { cancel(); <-done }
}

// recorderMetrics gathers the series of a recorder, none without one.
type recorderMetrics struct{ recorder *recorder.Recorder }

// Gather implements prometheus.Gatherer.
func (m recorderMetrics) Gather() ([]*dto.MetricFamily, error) {
	if m.recorder == nil {
		return nil, nil
	}
	stats, report := m.recorder.Stats(), m.recorder.Report()
	families := []*dto.MetricFamily{
		ownFamily(metric.RecorderUp, zeroOrOne(stats.Recording)),
		ownFamily(metric.RecorderRecordsTotal, float64(stats.Records)),
		ownFamily(metric.RecorderErrorsTotal, float64(stats.Errors)),
		ownFamily(metric.RecorderWrittenBytesTotal, float64(stats.Bytes)),
		ownFamily(metric.RecorderWriteSecondsTotal, stats.Writing.Seconds()),
		ownFamily(metric.RecorderBootTimestampSeconds, float64(m.recorder.Booted().UnixMilli())/1000),
	}
	if report.Schema == "" {
		return families, nil
	}
	end := metric.EndNotRecorded
	if report.Boot != nil {
		end = string(report.Boot.End)
	}
	ends := &dto.MetricFamily{}
	for _, name := range metric.BootEnds() {
		one := ownFamily(metric.RecorderPreviousBootEnd, zeroOrOne(name == end), name)
		one.Metric = append(ends.Metric, one.Metric...)
		ends = one
	}
	return append(families, ends), nil
}

func zeroOrOne(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// ownFamily is a family of the vocabulary with one series.
func ownFamily(of metric.Definer, value float64, labels ...string) *dto.MetricFamily {
	def := of.Def()
	family := ownGauge(def.Name, def.HelpText(), value)
	if def.Kind == metric.KindCounter {
		family = ownCounter(def.Name, def.HelpText(), value)
	}
	for i, name := range def.LabelNames() {
		family.Metric[0].Label = append(family.Metric[0].Label, &dto.LabelPair{Name: &name, Value: &labels[i]})
	}
	return family
}

// serveLastBoot serves what explain --last-boot prints, as text or as JSON.
func (e *Exporter) serveLastBoot(w http.ResponseWriter, r *http.Request) {
	if e.recorder == nil || e.recorder.Report().Schema == "" {
		http.Error(w, "nothing is recorded: --recorder is off, or its ring could not be opened yet", http.StatusNotFound)
		return
	}
	report := e.recorder.Report()
	var page bytes.Buffer
	kind := "text/plain; charset=utf-8"
	if r.URL.Path == lastBootJSONPath {
		kind = "application/json"
		if err := writeReport(&page, report); err != nil {
			e.settings.Logger.Error("page", "problem", err.Error())
		}
	} else {
		printReport(&page, report)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(page.Bytes())
}
