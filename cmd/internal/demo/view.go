package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"

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

// firing returns the names of the alerts that fired at any time from one moment to another, of those that a selector of
// labels matches.
func (v *viewer) firing(ctx context.Context, selector string, from, to time.Time) ([]string, error) {
	seconds := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	expression := fmt.Sprintf("ALERTS{alertstate=\"firing\",%s}", selector)
	form := url.Values{"query": {expression}, "start": {seconds(from)}, "end": {seconds(to)}, "step": {ruleInterval.String()}}
	if err := v.get(ctx, "/api/v1/query_range?"+form.Encode(), &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", expression, err)
	}
	names := map[string]bool{}
	for _, series := range answer.Data.Result {
		names[series.Metric[model.AlertNameLabel]] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// fires reports whether an alert fires for a machine now.
func (v *viewer) fires(ctx context.Context, alert, host string) bool {
	now := time.Now()
	found, err := v.firing(ctx, fmt.Sprintf("%s=%q,%s=%q", model.AlertNameLabel, alert, metric.LabelHost, host), now, now)
	return err == nil && len(found) > 0
}
