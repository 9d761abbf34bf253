package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/exporter/metric"
)

// around is the time of the machine that is shown before and after an event.
const around = time.Minute

// heat returns the alerts that fired, and the curves of the machine that had the events.
func (s *shown) heat(ctx context.Context) Heat {
	page := Heat{Host: trialsHost, Events: s.events}
	runbooks := runbookAddresses()
	for _, f := range s.firings {
		page.Firings = append(page.Firings, Firing{
			Alert: f.Alert, Severity: f.Severity, Host: f.Labels[string(metric.LabelHost)], Summary: f.Summary, About: subject(f.Labels), Runbook: runbooks[f.Alert],
			Pending: f.Pending, From: f.From, Until: f.Until,
		})
	}
	if s.timeline == nil || len(s.events) == 0 {
		page.Absent = s.absent(false)
		return page
	}
	page.Absent = s.absent(true)
	event := s.events[len(s.events)-1]
	page.Host = event.Host
	until := event.Until
	if until.IsZero() {
		until = s.machineEnded
	}
	step := s.finest()
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
		query := fmt.Sprintf("last_over_time(%s{%s=%q}[%s])", c.family.Def().Name, metric.LabelHost, event.Host, 3*step)
		series, err := s.ask(ctx, query, event.From.Add(-around), until.Add(around))
		if err != nil {
			page.Fault = cmp.Or(page.Fault, err.Error())
			continue
		}
		curve := Curve{Title: c.title, Unit: c.unit}
		if len(series) > 0 {
			for _, p := range series[0].Points {
				curve.Points = append(curve.Points, Point{At: p.At, Value: p.Value / c.per})
			}
		}
		page.Curves = append(page.Curves, curve)
	}
	return page
}

// subject returns what an alert is about, on a machine that has several of them: a collector, a drive, a container.
func subject(labels map[string]string) string {
	common := []string{"alertname", "severity", string(metric.LabelHost), string(metric.LabelJob), string(metric.LabelMode), string(metric.LabelUUID)}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !slices.Contains(common, name) {
			parts = append(parts, name+"="+labels[name])
		}
	}
	return strings.Join(parts, ", ")
}

// finest returns the step of queries to the timeline, on the clocks of the machines: the scrape interval, since there
// are no samples between two scrapes.
func (s *shown) finest() time.Duration { return paceOf(s.options).rhythm.scraped }

// ask queries the timeline. It works after an interrupt too, so that an interrupted demo has its figures.
func (s *shown) ask(ctx context.Context, query string, from, to time.Time) ([]rangeSeries, error) {
	return s.timeline.Range(context.WithoutCancel(ctx), query, from, to, s.finest())
}

// runbookAddresses returns the addresses of the runbook entries of all alerts.
func runbookAddresses() map[string]string {
	addresses := map[string]string{}
	for _, group := range alerts.Groups() {
		for _, a := range group.Alerts {
			addresses[a.Name] = a.URL()
		}
	}
	return addresses
}

// limits compares, for each container, the bytes that count towards its limit with its GPU-held memory, at the moment
// at which the latter was largest.
func (s *shown) limits(ctx context.Context) Limits {
	var page Limits
	if s.timeline == nil {
		page.Absent = s.absent(false)
		return page
	}
	scope := containerArm().cgroup
	for _, c := range s.campaigns {
		at := func(family metric.Definer) (map[time.Time]float64, error) {
			// A cgroup has one process or more with GPU memory.
			query := fmt.Sprintf("sum by (%s) (%s{%s=%q,%s=%q})", metric.LabelCgroup, family.Def().Name, metric.LabelHost, c.host, metric.LabelCgroup, scope)
			series, err := s.ask(ctx, query, s.machineBegun, s.machineEnded)
			values := map[time.Time]float64{}
			for _, one := range series {
				for _, p := range one.Points {
					values[p.At] = p.Value
				}
			}
			return values, err
		}
		limit, err := at(metric.CgroupMemoryMaxBytes)
		charged, other := at(metric.CgroupMemoryCurrentBytes)
		held, third := at(metric.GPUProcessMemoryBytes)
		if err = cmp.Or(err, other, third); err != nil {
			page.Fault = cmp.Or(page.Fault, err.Error())
			continue
		}
		if moment, found := fullest(held, charged); found {
			page.Containers = append(page.Containers, Container{
				Host: c.host, Cgroup: scope, At: moment, LimitBytes: limit[moment], ChargedBytes: charged[moment], HeldBytes: held[moment],
			})
		}
	}
	if len(page.Containers) == 0 {
		page.Absent = cmp.Or(page.Absent, s.absent(false))
	}
	return page
}

// fullest returns the moment at which held was largest, among those at which charged has a sample too; the first of
// several.
func fullest(held, charged map[time.Time]float64) (moment time.Time, found bool) {
	var moments []time.Time
	for at := range held {
		if _, both := charged[at]; both {
			moments = append(moments, at)
		}
	}
	if len(moments) == 0 {
		return moment, false
	}
	slices.SortFunc(moments, func(a, b time.Time) int { return cmp.Or(cmp.Compare(held[b], held[a]), a.Compare(b)) })
	return moments[0], true
}
