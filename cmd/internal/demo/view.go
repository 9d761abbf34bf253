package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/exporter/metric"
)

// viewer is the uma-view of a demo: it scrapes the machines and the runs, and evaluates the scaled rules. With --serve it
// is what stays open.
type viewer struct {
	at     string // HOST:PORT
	client *http.Client
}

// Folders and files of the view in the folder of a demo.
const (
	samplesFolder = "samples"
	rulesFolder   = "rules"
	targetsFile   = "machines.yaml"
	viewLog       = "view.log"
)

// openView starts uma-view over the machines and waits until it answers.
func (s *showing) openView(ctx context.Context) error {
	if err := writeRules(filepath.Join(s.folder, rulesFolder)); err != nil {
		return err
	}
	if err := s.writeTargets(); err != nil {
		return err
	}
	s.view = &viewer{at: s.viewAt, client: &http.Client{Transport: &http.Transport{Proxy: nil}}}
	log, err := os.Create(filepath.Join(s.folder, viewLog))
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	s.running.Go(func() {
		defer close(ended)
		defer log.Close()
		s.program.View(ctx, s.viewArguments(), io.Discard, log)
	})
	for {
		if s.view.get(ctx, "/-/ready", nil) == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New(s.viewComplaint())
		case <-time.After(lookPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// viewComplaint returns the last line of the errors of the view, empty if there is none.
func (s *showing) viewComplaint() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, viewLog)) // without it there is no complaint
	return (&tailWriter{kept: text}).line()
}

// viewArguments returns the command line of uma-view.
func (s *showing) viewArguments() []string {
	first := s.machines[0]
	args := []string{
		"--web.listen-address", s.viewListens, "--data", filepath.Join(s.folder, samplesFolder), "--runs", s.folder,
		"--rules", filepath.Join(s.folder, rulesFolder), "--host", first.name, "--exporter", first.exporterURL(),
		"--targets", filepath.Join(s.folder, targetsFile), "--scrape-interval", scrapeInterval.String(), "--runs-interval", runsInterval.String(), "--log.level", "error",
	}
	for _, m := range s.machines {
		args = append(args, "--load", m.loadAt)
	}
	for _, name := range s.options.allowHosts {
		args = append(args, "--web.allow-host", name)
	}
	return args
}

// writeTargets writes the exporters of all machines but the first, in the format of Prometheus' file_sd.
func (s *showing) writeTargets() error {
	type target struct {
		Targets []string          `yaml:"targets"`
		Labels  map[string]string `yaml:"labels"`
	}
	var all []target
	for _, m := range s.machines[1:] {
		all = append(all, target{[]string{m.pages[exporterPage].at}, map[string]string{string(metric.LabelHost): m.name, "instance": m.name}})
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.folder, targetsFile), text, 0o644)
}

// get reads a page of the view; a nil answer drops it.
func (v *viewer) get(ctx context.Context, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.at+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := v.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("uma-view answers %s: %.200s", response.Status, body)
	case answer == nil:
		return nil
	}
	return json.Unmarshal(body, answer)
}

// series is a series of the answer to a range query.
type series struct {
	labels map[string]string
	points []Point
}

// query asks for the values of an expression from one time to another, in steps.
func (v *viewer) query(ctx context.Context, expression string, from, to time.Time, step time.Duration) ([]series, error) {
	seconds := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any // seconds and the value, as a text
			}
		}
	}
	form := url.Values{"query": {expression}, "start": {seconds(from)}, "end": {seconds(to)}, "step": {step.String()}}
	if err := v.get(ctx, "/api/v1/query_range?"+form.Encode(), &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", expression, err)
	}
	var all []series
	for _, one := range answer.Data.Result {
		s := series{labels: one.Metric}
		for _, pair := range one.Values {
			at, _ := pair[0].(float64)
			text, _ := pair[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", expression, err)
			}
			s.points = append(s.points, Point{At: time.UnixMilli(int64(math.Round(at * 1000))).UTC(), Value: value})
		}
		all = append(all, s)
	}
	return all, nil
}

// alertState is the label of Prometheus' series of pending and firing alerts, ALERTS.
const alertState = "alertstate"

// fires reports whether an alert fires for a machine now.
func (v *viewer) fires(ctx context.Context, alert, host string) bool {
	now := time.Now()
	found, err := v.query(ctx, fmt.Sprintf("ALERTS{%s=%q,%s=%q,%s=\"firing\"}", model.AlertNameLabel, alert, metric.LabelHost, host, alertState), now, now, time.Second)
	return err == nil && len(found) > 0
}

// firings returns the alerts that fired in a time and that people act on or read, in the order of time.
func (v *viewer) firings(ctx context.Context, from, to time.Time) ([]Firing, error) {
	states, err := v.query(ctx, fmt.Sprintf("ALERTS{%s!=%q}", metric.LabelSeverity, alerts.None), from, to, ruleInterval)
	if err != nil {
		return nil, err
	}
	type state struct {
		at     time.Time
		firing bool
	}
	byAlert, labels := map[string][]state{}, map[string]map[string]string{}
	for _, s := range states {
		firing := s.labels[alertState] == "firing"
		delete(s.labels, alertState)
		key := fmt.Sprint(s.labels)
		labels[key] = s.labels
		for _, p := range s.points {
			byAlert[key] = append(byAlert[key], state{p.At, firing})
		}
	}
	var all []Firing
	for _, key := range slices.Sorted(maps.Keys(byAlert)) {
		one := byAlert[key]
		slices.SortFunc(one, func(a, b state) int { return a.at.Compare(b.at) })
		var now Firing
		end := func(last time.Time) {
			if !now.From.IsZero() {
				if to.Sub(last) > ruleInterval {
					now.Until = last
				}
				all = append(all, now)
			}
		}
		for i, s := range one {
			if i == 0 || s.at.Sub(one[i-1].at) > ruleInterval {
				if i > 0 {
					end(one[i-1].at)
				}
				now = newFiring(labels[key], s.at)
			}
			if s.firing && now.From.IsZero() {
				now.From = s.at
			}
		}
		end(one[len(one)-1].at)
	}
	slices.SortStableFunc(all, func(a, b Firing) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Host, b.Host)) })
	return all, nil
}

// newFiring describes an alert from a time on, in the words of its rule.
func newFiring(labels map[string]string, pending time.Time) Firing {
	f := Firing{Alert: labels[model.AlertNameLabel], Severity: labels[string(metric.LabelSeverity)], Host: labels[string(metric.LabelHost)], Pending: pending}
	for _, group := range alerts.Groups() {
		for _, a := range group.Alerts {
			if a.Name == f.Alert {
				f.Summary, f.Runbook = a.Summary, group.RunbookURL(a)
			}
		}
	}
	return f
}
