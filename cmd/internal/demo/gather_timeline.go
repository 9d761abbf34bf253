package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/metric"
)

// around is the time, as in the rules, that is shown before and after an event.
const around = time.Minute

// heat returns the alerts that fired, and the curves of the machine that had the events.
func (s *shown) heat(ctx context.Context) Heat {
	page := Heat{Host: heatHost, Events: s.events, Firings: s.firings}
	if s.view == nil || len(s.events) == 0 {
		page.Absent = s.absent(false)
		return page
	}
	page.Absent = s.absent(true)
	event := s.events[len(s.events)-1]
	page.Host = event.Host
	until := event.Until
	if until.IsZero() {
		until = s.ended
	}
	for _, c := range []struct {
		family      metric.Definer
		title, unit string
		per         float64 // in the unit of the series
	}{
		{metric.GPUTemperatureCelsius, "GPU temperature", "°C", 1},
		{metric.GPUSMClockHertz, "GPU clock", "GHz", 1e9},
		{metric.GPUPowerWatts, "GPU power", "W", 1},
	} {
		// Prometheus takes a value of up to five minutes ago for the present one. With such values a curve would
		// continue where no scrape succeeded.
		query := fmt.Sprintf("last_over_time(%s{%s=%q}[%s])", c.family.Def().Name, metric.LabelHost, event.Host, model.Duration(3*scrapeInterval))
		series, err := s.ask(ctx, query, event.From.Add(-scaled(around)), until.Add(scaled(around)))
		if err != nil {
			page.Fault = cmp.Or(page.Fault, err.Error())
			continue
		}
		curve := Curve{Title: c.title, Unit: c.unit}
		if len(series) > 0 {
			for _, p := range series[0].points {
				curve.Points = append(curve.Points, Point{At: p.At, Value: p.Value / c.per})
			}
		}
		page.Curves = append(page.Curves, curve)
	}
	return page
}

// limits returns the memory of the container of each machine of a campaign.
func (s *shown) limits(ctx context.Context) Limits {
	page := Limits{Section: Section{Absent: s.absent(true)}}
	most := map[string]*Container{}
	for _, c := range []struct {
		family metric.Definer
		into   func(*Container) *float64
	}{
		{metric.CgroupMemoryMaxBytes, func(c *Container) *float64 { return &c.Limit }},
		{metric.CgroupMemoryCurrentBytes, func(c *Container) *float64 { return &c.Charged }},
		{metric.CgroupGPUMemoryBytes, func(c *Container) *float64 { return &c.Held }},
	} {
		if s.view == nil {
			break
		}
		query := fmt.Sprintf("max_over_time(%s{%s=%q}[%s])", c.family.Def().Name, metric.LabelCgroup, containerArm().cgroup, model.Duration(s.ended.Sub(s.begun)))
		series, err := s.ask(ctx, query, s.ended, s.ended)
		if err != nil {
			page.Fault = cmp.Or(page.Fault, err.Error())
		}
		for _, one := range series {
			host := one.labels[string(metric.LabelHost)]
			if most[host] == nil {
				most[host] = &Container{Host: host}
			}
			*c.into(most[host]) = one.points[0].Value
		}
	}
	for _, host := range slices.Sorted(maps.Keys(most)) {
		page.Containers = append(page.Containers, *most[host])
	}
	return page
}

// ask queries the view in steps of the scrapes. It works after an interrupt too, so that an interrupted demo has its
// figures.
func (s *shown) ask(ctx context.Context, query string, from, to time.Time) ([]series, error) {
	return s.view.query(context.WithoutCancel(ctx), query, from, to, scrapeInterval)
}
