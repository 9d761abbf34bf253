package compose

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"
)

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	if err := yaml.Load(text, into, yaml.WithKnownFields()); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestGrafanaHasOneFixedDatasourceWithTheScrapeInterval(t *testing.T) {
	var file struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, Type, UID, URL, Access string
			IsDefault                    bool `yaml:"isDefault"`
			Editable                     bool
			JSONData                     struct {
				TimeInterval string `yaml:"timeInterval"`
				HTTPMethod   string `yaml:"httpMethod"`
			} `yaml:"jsonData"`
		}
	}
	read(t, "grafana/provisioning/datasources/prometheus.yaml", &file)
	if len(file.Datasources) != 1 {
		t.Fatalf("%d datasources", len(file.Datasources))
	}
	source := file.Datasources[0]
	if source.Type != "prometheus" || source.UID != "prometheus" || !source.IsDefault || source.Editable || source.URL != "http://prometheus:9090" {
		t.Errorf("datasource %+v", source)
	}
	if _, exists := project(t, stackFile).Services["prometheus"].Networks["monitoring"]; !exists {
		t.Error("Grafana cannot resolve the name prometheus")
	}
	parsed, _ := configuration(t)
	interval, err := model.ParseDuration(source.JSONData.TimeInterval)
	if err != nil || interval != parsed.GlobalConfig.ScrapeInterval {
		t.Errorf("timeInterval %s, scraped every %s: rates would be blank or coarse", source.JSONData.TimeInterval, parsed.GlobalConfig.ScrapeInterval)
	}
}

func TestGrafanaProvisionsTheGeneratedDashboardsAndKeepsThem(t *testing.T) {
	var file struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type    string
			AllowUIUpdates        bool `yaml:"allowUiUpdates"`
			DisableDeletion       bool `yaml:"disableDeletion"`
			UpdateIntervalSeconds int  `yaml:"updateIntervalSeconds"`
			Options               struct{ Path string }
		}
	}
	read(t, "grafana/provisioning/dashboards/umascope.yaml", &file)
	if len(file.Providers) != 1 {
		t.Fatalf("%d providers", len(file.Providers))
	}
	provider := file.Providers[0]
	if provider.Type != "file" || provider.AllowUIUpdates || !provider.DisableDeletion {
		t.Errorf("provider %+v", provider)
	}
	found, err := filepath.Glob(filepath.Join(inContainer(t, "grafana", provider.Options.Path), "*.json"))
	if err != nil || len(found) == 0 {
		t.Errorf("no dashboards in %s: %v", provider.Options.Path, err)
	}
	home := project(t, stackFile).Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if _, err := os.Stat(inContainer(t, "grafana", *home)); err != nil {
		t.Error(err)
	}
}

// TestDashboardsMayRefreshAsOftenAsTheyAsk: Grafana's own minimum is longer than some want.
func TestDashboardsMayRefreshAsOftenAsTheyAsk(t *testing.T) {
	minimum, err := time.ParseDuration(*project(t, stackFile).Services["grafana"].Environment["GF_DASHBOARDS_MIN_REFRESH_INTERVAL"])
	if err != nil || minimum > 5*time.Second {
		t.Errorf("minimum %s, %v", minimum, err)
	}
}
