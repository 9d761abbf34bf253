package compose

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen"
)

// fileTargets finds file-based discovery. Its package is not linked (it watches files, which needs
// a module that nothing else here does), so the block is read here and the rest by Prometheus.
var fileTargets = regexp.MustCompile(`file_sd_configs:\s+- files: \[(\S+)\]`)

// configuration is prometheus.yml as Prometheus reads it.
func configuration(t *testing.T) (parsed *config.Config, targetFiles []string) {
	t.Helper()
	text, err := os.ReadFile("prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range fileTargets.FindAllSubmatch(text, -1) {
		targetFiles = append(targetFiles, string(match[1]))
	}
	parsed, err = config.Load(string(fileTargets.ReplaceAll(text, []byte(`static_configs: [{targets: ["a:1"]}]`))), quiet())
	if err != nil {
		t.Fatal(err)
	}
	return parsed, targetFiles
}

// targetGroup is an entry of a file of targets.
type targetGroup struct {
	Targets []string          `yaml:"targets"`
	Labels  map[string]string `yaml:"labels"`
}

func targetGroups(t *testing.T, name string) []targetGroup {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("prometheus/targets", name))
	if err != nil {
		t.Fatal(err)
	}
	var groups []targetGroup
	if err := yaml.Load(text, &groups, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	return groups
}

// targets are the addresses of a file of targets.
func targets(t *testing.T, name string) []string {
	t.Helper()
	var all []string
	for _, group := range targetGroups(t, name) {
		all = append(all, group.Targets...)
	}
	return all
}

func TestPrometheusScrapesTheJobsThatTheCodeNames(t *testing.T) {
	parsed, files := configuration(t)
	honors := map[string]bool{}
	for _, job := range parsed.ScrapeConfigs {
		honors[job.JobName] = job.HonorLabels
		if !*job.ScrapeNativeHistograms {
			t.Errorf("job %s does not keep native histograms, which panels read", job.JobName)
		}
		if job.BodySizeLimit == 0 || job.SampleLimit == 0 {
			t.Errorf("job %s takes pages of any size", job.JobName)
		}
	}
	for _, job := range []string{metric.JobExporter, metric.JobLoad, metric.JobResults} {
		if _, exists := honors[job]; !exists {
			t.Errorf("no job %s", job)
		}
	}
	if honors[metric.JobExporter] || !honors[metric.JobLoad] || !honors[metric.JobResults] {
		t.Error("only series of runs carry the host themselves")
	}
	const folder = "/etc/umascope/prometheus/targets/"
	want := []string{folder + "exporter.yml", folder + "load.yml", folder + "results.yml", folder + "engine.yml"}
	if !slices.Equal(files, want) {
		t.Errorf("target files %v", files)
	}
	if parsed.StorageConfig.TSDBConfig.Retention.Time == 0 || parsed.StorageConfig.TSDBConfig.Retention.Size == 0 {
		t.Error("retention is not bounded")
	}
}

func TestEveryTargetNamesItsHost(t *testing.T) {
	names := map[string]bool{}
	for _, file := range []string{"exporter.yml", "load.yml"} {
		for _, group := range targetGroups(t, file) {
			host := group.Labels[string(metric.LabelHost)]
			if host == "" || len(group.Targets) == 0 || len(group.Labels) != 1 {
				t.Errorf("%s: targets %v with labels %v", file, group.Targets, group.Labels)
			}
			names[host] = true
		}
	}
	if len(names) != 1 {
		t.Errorf("runs and machine would not be joined: %v", names)
	}
}

// TestFinishedRunsAreOfNoOneHost: most of their series have a run and no host, and would be given that of the
// target, which is not the machine that was measured.
func TestFinishedRunsAreOfNoOneHost(t *testing.T) {
	groups := targetGroups(t, "results.yml")
	if len(groups) != 1 || len(groups[0].Targets) != 1 || len(groups[0].Labels) > 0 {
		t.Errorf("targets %v", groups)
	}
	if _, port, err := net.SplitHostPort(groups[0].Targets[0]); err != nil || port != portOf(t, loadgen.DefaultResultsAddress) {
		t.Errorf("%s is not where uma-load serve listens: %v", groups[0].Targets[0], err)
	}
}

// seriesOfARun is how many series uma-load serve has of a finished run, about.
const seriesOfARun = 90

func TestAFullShelfOfRunsIsNotCutOff(t *testing.T) {
	parsed, _ := configuration(t)
	for _, job := range parsed.ScrapeConfigs {
		if job.JobName == metric.JobResults && job.SampleLimit < 2*500*seriesOfARun {
			t.Errorf("%d samples, and 500 runs with comparisons have %d", job.SampleLimit, 2*500*seriesOfARun)
		}
	}
}

func TestAlertsAreSentToAlertmanager(t *testing.T) {
	parsed, _ := configuration(t)
	if n := len(parsed.AlertingConfig.AlertmanagerConfigs); n != 1 {
		t.Errorf("%d Alertmanagers", n)
	}
}

// inContainer finds the file on this machine that a container sees under a path.
func inContainer(t *testing.T, service, path string) string {
	t.Helper()
	for _, mount := range project(t, "compose.yaml").Services[service].Volumes {
		if rest, err := filepath.Rel(mount.Target, path); err == nil && filepath.IsLocal(rest) {
			return filepath.Join(mount.Source, rest)
		}
	}
	t.Fatalf("%s does not see %s", service, path)
	return ""
}

func TestPrometheusSeesItsConfigurationTargetsAndRules(t *testing.T) {
	parsed, files := configuration(t)
	command := project(t, "compose.yaml").Services["prometheus"].Command
	for _, path := range append(files, argument(command, "config.file")) {
		if _, err := os.Stat(inContainer(t, "prometheus", path)); err != nil {
			t.Error(err)
		}
	}
	rules := 0
	for _, pattern := range parsed.RuleFiles {
		paths, err := filepath.Glob(inContainer(t, "prometheus", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			read, errs := rulefmt.ParseFile(path, false, model.UTF8Validation, parser.NewParser(parser.Options{}), quiet())
			for _, err := range errs {
				t.Error(err)
			}
			for _, group := range read.Groups {
				rules += len(group.Rules)
			}
		}
	}
	if rules == 0 {
		t.Error("no rules are mounted")
	}
}

func TestAlertsAreEvaluatedAtLeastAsOftenAsTheyWait(t *testing.T) {
	parsed, _ := configuration(t)
	if interval := time.Duration(parsed.GlobalConfig.EvaluationInterval); interval > 15*time.Second {
		t.Errorf("rules are evaluated every %s, and the quickest waits 15 s", interval)
	}
}
