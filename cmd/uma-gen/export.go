package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// export is what is written for another Prometheus and Grafana.
type export struct {
	out                    string
	hostLabel, jobSelector string
	alertLabels            []string
	grafanaCom             bool
	// named are the flags that were given.
	named struct{ out, host, job bool }
}

func (e *export) flags(app *kingpin.Application) {
	app.Flag("out", "Write dashboards and alerts for another Prometheus and Grafana into this folder, instead of the checkout.").PlaceHolder("FOLDER").IsSetByUser(&e.named.out).StringVar(&e.out)
	app.Flag("host-label", "With --out: label that has the name of the machine.").Default("host").IsSetByUser(&e.named.host).StringVar(&e.hostLabel)
	app.Flag("job-selector", "With --out: matchers of the targets that are exporters.").Default(`job="uma-exporter"`).IsSetByUser(&e.named.job).StringVar(&e.jobSelector)
	app.Flag("alert-label", "With --out: a label for every alert, such as team=x; may be repeated.").PlaceHolder("NAME=VALUE").StringsVar(&e.alertLabels)
	app.Flag("grafana-com", "With --out: dashboards in the form that grafana.com takes.").BoolVar(&e.grafanaCom)
}

// flag returns one of the flags that need --out, as it was given, "" if none was; of is the subject that it is about, "" for both.
func (e *export) flag() (given, of string) {
	switch {
	case e.grafanaCom:
		return "--grafana-com", "dashboards"
	case len(e.alertLabels) > 0:
		return "--alert-label " + e.alertLabels[0], "alerts"
	case e.named.job:
		return "--job-selector " + e.jobSelector, "alerts"
	case e.named.host:
		return "--host-label " + e.hostLabel, ""
	}
	return "", ""
}

// check returns the error of flags that do not go together.
func (e *export) check(f flags) error {
	given, of := e.flag()
	switch {
	case !e.named.out && given != "":
		return fmt.Errorf("%s: name a folder for these files by --out", given)
	case !e.named.out:
		return nil
	case e.out == "":
		return errors.New(`--out "": want a folder`)
	case f.check:
		return errors.New("--check compares the checkout; it does not go with --out")
	case f.what == "docs":
		return errors.New("docs: --out is for dashboards and alerts")
	case f.what != "" && of != "" && f.what != of:
		return fmt.Errorf("%s: it is about %s, not about %s", given, of, f.what)
	}
	if _, err := os.Stat(filepath.Join(e.out, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--out %s: it is a checkout, whose files have names of their own: name another folder", e.out)
	}
	return nil
}

// settings reads the names.
func (e *export) settings() (alerts.Settings, error) {
	var s alerts.Settings
	names, err := expr.Names{}.WithHost(e.hostLabel)
	if err != nil {
		return s, fmt.Errorf("--host-label %s: it %w", e.hostLabel, err)
	}
	if e.named.job {
		if names, err = names.WithExporters(e.jobSelector); err != nil {
			return s, fmt.Errorf("--job-selector %s: %w", e.jobSelector, err)
		}
	}
	s.Names = names
	for _, text := range e.alertLabels {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return s, fmt.Errorf("--alert-label %s: want NAME=VALUE", text)
		}
		if s, err = s.WithLabel(name, value); err != nil {
			return s, fmt.Errorf("--alert-label %s: %w", text, err)
		}
	}
	return s, nil
}

// write writes dashboards, alerts or, if only is "", both.
func (e *export) write(only string, s alerts.Settings, stdout io.Writer) error {
	var files []file
	if only != "alerts" {
		rendered, err := dashboards.FilesFor(dashboards.Settings{Names: s.Names, Shared: e.grafanaCom})
		if err != nil {
			return err
		}
		for _, f := range rendered {
			files = append(files, file{"dashboards/" + f.Name, f.Content})
		}
	}
	if only != "dashboards" {
		rendered, err := alerts.FilesFor(s)
		if err != nil {
			return err
		}
		for _, f := range rendered {
			files = append(files, file{"alerts/" + f.Name, f.Content})
		}
	}
	return write(e.out, files, stdout)
}
