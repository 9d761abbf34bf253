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
	"github.com/umascope/umascope/cmd/internal/demo/story"
	"github.com/umascope/umascope/cmd/internal/demo/timeline"
	"github.com/umascope/umascope/exporter/metric"
)

// around is how much of the machine's time is shown before and after what was done to it.
const around = time.Minute

// heat is what alerts said, with the curves of the machine that something was done to.
func (s *shown) heat(ctx context.Context) story.Heat {
	page := story.Heat{Host: trialsHost}
	for _, e := range s.events {
		page.Events = append(page.Events, story.Event{Name: e.name, Alert: e.alert, Host: e.host, From: e.from, Until: e.until})
	}
	runbooks := runbookAddresses()
	for _, f := range s.firings {
		page.Firings = append(page.Firings, story.Firing{
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
	page.Host = event.host
	until := event.until
	if until.IsZero() {
		until = s.machineEnded
	}
	step := s.finest()
	for _, c := range []struct {
		family      metric.Definer
		title, unit string
		per         float64 // of the series' unit
	}{
		{metric.GPUTemperatureCelsius, "GPU temperature", "°C", 1},
		{metric.GPUSMClockHertz, "GPU clock", "GHz", 1e9},
		{metric.GPUPowerWatts, "GPU power", "W", 1},
	} {
		// Prometheus takes a value for five minutes old for the present one. A curve with such ones would go on where nobody
		// has looked.
		query := fmt.Sprintf("last_over_time(%s{%s=%q}[%s])", c.family.Def().Name, metric.LabelHost, event.host, 3*step)
		series, err := s.ask(ctx, query, event.from.Add(-around), until.Add(around))
		if err != nil {
			page.Fault = cmp.Or(page.Fault, err.Error())
			continue
		}
		curve := story.Curve{Title: c.title, Unit: c.unit}
		if len(series) > 0 {
			for _, p := range series[0].Points {
				curve.Points = append(curve.Points, story.Point{At: p.At, Value: p.Value / c.per})
			}
		}
		page.Curves = append(page.Curves, curve)
	}
	return page
}

// subject tells apart what an alert is about, of a machine that has several: a collector, a drive, a container.
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

// finest is the step in which the timeline is asked, on the clocks of the machines: there is nothing between two scrapes.
func (s *shown) finest() time.Duration { return paceOf(s.options).rhythm.scraped }

// ask asks the timeline. A demo that was ended is told of all the same.
func (s *shown) ask(ctx context.Context, query string, from, to time.Time) ([]timeline.Series, error) {
	return s.timeline.Range(context.WithoutCancel(ctx), query, from, to, s.finest())
}

// runbookAddresses are those of all alerts.
func runbookAddresses() map[string]string {
	addresses := map[string]string{}
	for _, group := range alerts.Groups() {
		for _, a := range group.Alerts {
			addresses[a.Name] = a.URL()
		}
	}
	return addresses
}

// limits sets what a limit counts beside the GPU memory of its container, when that was the most.
func (s *shown) limits(ctx context.Context) story.Limits {
	var page story.Limits
	if s.timeline == nil {
		page.Absent = s.absent(false)
		return page
	}
	scope := containerArm().cgroup
	for _, c := range s.campaigns {
		at := func(family metric.Definer) (map[time.Time]float64, error) {
			// A cgroup has several processes with GPU memory, or one.
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
			page.Containers = append(page.Containers, story.Container{
				Host: c.host, Cgroup: scope, At: moment, LimitBytes: limit[moment], ChargedBytes: charged[moment], HeldBytes: held[moment],
			})
		}
	}
	if len(page.Containers) == 0 {
		page.Absent = cmp.Or(page.Absent, s.absent(false))
	}
	return page
}

// fullest is the moment at which most was held, of those at which the other was seen too; the first of several.
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
