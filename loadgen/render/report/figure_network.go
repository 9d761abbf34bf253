package report

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// rdma draws the traffic of the RDMA ports: between the machines of an engine, where it has several. It draws no chart
// without traffic.
func (t track) rdma() render.Figure {
	var lines []labelled
	for _, way := range []struct {
		word   string
		family metric.Definer
	}{{"received", metric.InfiniBandPortDataReceivedBytesTotal}, {"sent", metric.InfiniBandPortDataTransmittedBytesTotal}} {
		for _, series := range t.source.Find(way.family) {
			points := t.perSecond(slices.Collect(series.Points()))
			if !slices.ContainsFunc(points, func(p telemetry.Point) bool { return p.Value > 0 }) {
				continue
			}
			port := series.Labels[string(metric.LabelDevice)] + "/" + series.Labels[string(metric.LabelPort)]
			lines = append(lines, labelled{way.word + " " + port, points})
		}
	}
	return t.drawLines(measure{"RDMA to other machines", "GB/s", 1e-9, 0}, lines[:min(len(lines), colours)])
}

// perSecond returns the mean rate of a counter since the sample before, at each sample that has one. Across a gap, and
// where the counter fell, there is none.
func (t track) perSecond(points []telemetry.Point) []telemetry.Point {
	var rates []telemetry.Point
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		if to.Value < from.Value || to.AtNS <= from.AtNS || t.broken(from.AtNS, to.AtNS) || t.skips(from.AtNS, to.AtNS) {
			continue
		}
		rates = append(rates, telemetry.Point{AtNS: to.AtNS, Value: (to.Value - from.Value) / seconds(to.AtNS-from.AtNS)})
	}
	return rates
}
