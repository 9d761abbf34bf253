package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/dashboards/grafana"
)

// instance has the files that were read at the start.
type instance struct {
	source     source
	dashboards []grafana.Dashboard
	starts     int
}

// source is a datasource as it is provisioned.
type source struct {
	Name, Type, UID, URL, Access string
	IsDefault                    bool `yaml:"isDefault"`
	JSONData                     struct {
		TimeInterval string `yaml:"timeInterval"`
		HTTPMethod   string `yaml:"httpMethod"`
	} `yaml:"jsonData"`
}

// start reads all files that Grafana would read, and fails where Grafana would fail or show an empty page.
func start(provisioning, data string) (*instance, error) {
	i := &instance{}
	if path := os.Getenv("GF_SECURITY_ADMIN_PASSWORD__FILE"); path != "" {
		secret, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("the password: %w", err)
		}
		if len(bytes.TrimSpace(secret)) == 0 {
			return nil, fmt.Errorf("the password: %s is empty", path)
		}
	}
	var datasources struct{ Datasources []source }
	if err := readAll(filepath.Join(provisioning, "datasources"), &datasources); err != nil {
		return nil, err
	}
	if len(datasources.Datasources) != 1 || !datasources.Datasources[0].IsDefault {
		return nil, fmt.Errorf("datasources are %+v: one is wanted, the default", datasources.Datasources)
	}
	i.source = datasources.Datasources[0]
	var providers struct {
		Providers []struct {
			Options struct{ Path string }
		}
	}
	if err := readAll(filepath.Join(provisioning, "dashboards"), &providers); err != nil {
		return nil, err
	}
	for _, provider := range providers.Providers {
		if err := i.readDashboards(provider.Options.Path); err != nil {
			return nil, err
		}
	}
	if home := os.Getenv("GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"); home != "" {
		if _, err := os.Stat(home); err != nil {
			return nil, fmt.Errorf("the first page: %w", err)
		}
	}
	if probe, err := os.CreateTemp("", "probe"); err != nil {
		return nil, fmt.Errorf("temporary files: %w", err)
	} else if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, err
	}
	return i, i.count(filepath.Join(data, "grafana.db"))
}

// readAll reads the files of a folder of provisioning into one value.
func readAll(folder string, into any) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); ext != ".yaml" && ext != ".yml" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			return fmt.Errorf("%s: %w", entry.Name(), err)
		}
	}
	return nil
}

// readDashboards reads every .json below a folder, as Grafana does.
func (i *instance) readDashboards(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		d, err := grafana.Read(content)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		i.dashboards = append(i.dashboards, d)
		return nil
	})
}

// count adds this start to the number of starts in the data folder.
func (i *instance) count(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	_, err = fmt.Fprintln(file, time.Now().UTC().Format(time.RFC3339))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	i.starts = bytes.Count(text, []byte("\n"))
	return err
}
