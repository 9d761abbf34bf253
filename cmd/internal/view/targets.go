package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/common/model"
	_ "github.com/prometheus/prometheus/discovery/file" // file_sd_configs, of --targets
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"go.yaml.in/yaml/v4"
)

// Addresses of servers inside this process.
const (
	exporterInside = "exporter.inside:80"
	runsInside     = "runs.inside:80"
	queryInside    = "prometheus.inside:80"
)

// exporterJob is the job of the machines, as in the compose stack.
const exporterJob = "uma-exporter"

// insideAddress matches the address of a target that would be a server inside this process.
const insideAddress = `[^/]+\.inside(:\d+)?`

// defaultLive is the default address of the live metrics of uma-load; while no run is on, the target is down.
const defaultLive = "127.0.0.1:10421"

// prometheusConfig returns a prometheus.yml: this machine, its runs, and what the flags add. The labels are those of the
// compose stack, which the dashboards and rules expect.
func prometheusConfig(o options, exporter *url.URL, host string) (string, error) {
	type m = map[string]any
	interval, runsInterval := model.Duration(o.interval).String(), model.Duration(o.runsInterval).String()
	machine := m{"targets": []string{exporter.Host}, "labels": m{"instance": host, "host": host}}
	machines := m{
		"job_name": exporterJob, "scheme": exporter.Scheme, "metrics_path": exporter.Path, "static_configs": []m{machine},
	}
	if len(o.targets) > 0 {
		var files []string
		for _, file := range o.targets {
			path, err := filepath.Abs(file)
			if err != nil {
				return "", err
			}
			files = append(files, path)
		}
		machines["file_sd_configs"] = []m{{"files": files}}
		// A file of targets names other machines: one that names a server inside this process is dropped, and is among
		// the droppedTargets of /api/v1/targets.
		machines["relabel_configs"] = []m{{
			"source_labels": []string{"__meta_filepath", "__address__"}, "regex": ".+;" + insideAddress, "action": "drop",
		}}
	}
	config := m{
		// As in the stack: a page that is larger than any of ours is a mistake or an attack.
		"global": m{
			"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval, "scrape_native_histograms": true,
			"body_size_limit": "32MB", "sample_limit": 50_000,
		},
		"scrape_configs": []m{machines, {
			"job_name": "uma-load", "honor_labels": true, "static_configs": []m{{"targets": o.live}},
		}, {
			"job_name": "uma-results", "honor_labels": true, "scrape_interval": runsInterval, "scrape_timeout": runsInterval, "sample_limit": 200_000,
			"static_configs": []m{{"targets": []string{runsInside}}},
		}},
	}
	var remote []m
	for _, address := range o.remote {
		to := *address
		to.User = nil // Prometheus logs the URL
		endpoint := m{"url": to.String()}
		if user := address.User; user != nil {
			password, _ := user.Password()
			endpoint["basic_auth"] = m{"username": user.Username(), "password": password}
		}
		remote = append(remote, endpoint)
	}
	if remote != nil {
		config["remote_write"] = remote
	}
	text, err := yaml.Marshal(config)
	return string(text), err
}

// checkTargets returns why file_sd would not read a file. Later on, what is wrong with it is logged.
func checkTargets(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var groups []*targetgroup.Group
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json":
		return json.Unmarshal(content, &groups)
	case ".yml", ".yaml":
		decoder := yaml.NewDecoder(bytes.NewReader(content))
		decoder.KnownFields(true)
		if err := decoder.Decode(&groups); !errors.Is(err, io.EOF) { // of an empty file
			return err
		}
		return nil
	}
	return errors.New("its name must end in .json, .yml or .yaml")
}
