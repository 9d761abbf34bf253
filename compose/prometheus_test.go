package compose

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen"
)

// fileTargets finds file-based discovery. Its package is not linked (it watches files, which needs
// a module that nothing else here does), so the block is read here and the rest by Prometheus.
var fileTargets = regexp.MustCompile(`file_sd_configs:\s+- files: \[([^\]]+)\]`)

// configuration is prometheus.yml as Prometheus reads it.
func configuration(t *testing.T) (parsed *config.Config, targetFiles []string) {
	t.Helper()
	text, err := os.ReadFile("prometheus/prometheus.yml")
	must(t, err)
	for _, match := range fileTargets.FindAllSubmatch(text, -1) {
		targetFiles = append(targetFiles, strings.Split(string(match[1]), ", ")...)
	}
	parsed, err = config.Load(string(fileTargets.ReplaceAll(text, []byte(`static_configs: [{targets: ["a:1"]}]`))), quiet())
	must(t, err)
	return parsed, targetFiles
}

// targetGroup is an entry of a file of targets.
type targetGroup struct {
	Targets []string          `yaml:"targets"`
	Labels  map[string]string `yaml:"labels"`
}

// targetGroups reads a file of targets that comes with the project: of the simulation, or one that is the same everywhere.
func targetGroups(t *testing.T, path string) []targetGroup {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("prometheus", path))
	must(t, err)
	return parseTargets(t, text)
}

func parseTargets(t *testing.T, text []byte) (groups []targetGroup) {
	t.Helper()
	if err := yaml.Load(text, &groups, yaml.WithKnownFields()); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return groups
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
	want := []string{folder + "exporter.yml", folder + "exporter-*.yml", folder + "load.yml", folder + "load-*.yml", folder + "results.yml", folder + "engine.yml", folder + "engine-*.yml"}
	if !slices.Equal(files, want) {
		t.Errorf("target files %v", files)
	}
	if parsed.StorageConfig.TSDBConfig.Retention.Time == 0 || parsed.StorageConfig.TSDBConfig.Retention.Size == 0 {
		t.Error("retention is not bounded")
	}
}

// TestNoTargetOfALiveMachineIsCommitted: an update would change it, or lose it.
func TestNoTargetOfALiveMachineIsCommitted(t *testing.T) {
	ignored, err := os.ReadFile("prometheus/targets/.gitignore")
	if want := "*\n!.gitignore\n!results.yml\n!example.engine.yml\n"; err != nil || !strings.HasSuffix(string(ignored), want) {
		t.Errorf("git keeps %q, %v", ignored, err)
	}
	if pattern, err := filepath.Match("engine-*.yml", "example.engine.yml"); pattern || err != nil {
		t.Error("the example is taken for a target")
	}
	if groups := targetGroups(t, "targets/example.engine.yml"); len(groups) != 1 || groups[0].Labels[string(metric.LabelHost)] == "" {
		t.Errorf("the example is %v", groups)
	}
}

// TestTheSimulationIsTheOnlyTargetOfItsPrometheus follows its ports from the command to the files.
func TestTheSimulationIsTheOnlyTargetOfItsPrometheus(t *testing.T) {
	services := project(t, stackFile).Services
	command := services["sim"].Command
	host := argument(command, "host")
	for file, flag := range map[string]string{"exporter.yml": "exporter", "load.yml": "load", "engine.yml": "engine"} {
		groups := targetGroups(t, "sim-targets/"+file)
		want := "sim:" + portOf(t, argument(command, flag+".listen-address"))
		if len(groups) != 1 || !slices.Equal(groups[0].Targets, []string{want}) || len(groups[0].Labels) != 1 || groups[0].Labels[string(metric.LabelHost)] != host {
			t.Errorf("%s: %v, want %s of host %s", file, groups, want, host)
		}
	}
	if got := inContainer(t, "sim-prometheus", "/etc/umascope/prometheus/targets/exporter.yml"); !strings.HasSuffix(got, "/prometheus/sim-targets/exporter.yml") {
		t.Errorf("its Prometheus reads %s", got)
	}
	if got := inContainer(t, "prometheus", "/etc/umascope/prometheus/targets/exporter.yml"); !strings.HasSuffix(got, "/prometheus/targets/exporter.yml") {
		t.Errorf("the live Prometheus reads %s", got)
	}
	for flag, address := range map[string]string{"exporter.listen-address": exporter.DefaultAddress, "load.listen-address": loadgen.DefaultAddress} {
		if portOf(t, argument(command, flag)) != portOf(t, address) {
			t.Errorf("--%s=%s, elsewhere it is %s", flag, argument(command, flag), address)
		}
	}
}

// TestFinishedRunsAreOfNoOneHost: most of their series have a run and no host, and would be given that of the
// target, which is not the machine that was measured.
func TestFinishedRunsAreOfNoOneHost(t *testing.T) {
	for _, folder := range []string{"targets", "sim-targets"} {
		groups := targetGroups(t, folder+"/results.yml")
		if len(groups) != 1 || len(groups[0].Labels) > 0 || !slices.Equal(groups[0].Targets, []string{"results:" + portOf(t, loadgen.DefaultResultsAddress)}) {
			t.Errorf("targets %v", groups)
		}
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
	text, err := os.ReadFile("prometheus/prometheus.yml")
	if err != nil || !strings.Contains(string(text), `targets: ["alertmanager:9093"]`) {
		t.Errorf("its address is not that of the service: %v", err)
	}
	services := project(t, stackFile).Services
	for prometheus, alertmanager := range map[string]string{"prometheus": "alertmanager", "sim-prometheus": "sim-alertmanager"} {
		if got := inContainer(t, alertmanager, argument(services[alertmanager].Command, "config.file")); filepath.Base(got) != "alertmanager.yml" {
			t.Errorf("%s is configured by %s", alertmanager, got)
		} else if _, err := os.Stat(got); err != nil {
			t.Error(err)
		}
		for network := range services[prometheus].Networks {
			if _, shared := services[alertmanager].Networks[network]; !shared {
				t.Errorf("%s does not reach %s", prometheus, alertmanager)
			}
		}
	}
	generated, err := os.ReadFile("../alerts/alertmanager.yml")
	if err != nil || !strings.Contains(string(generated), "url_file: /run/secrets/alert-receiver\n") {
		t.Errorf("the receiver is not the secret: %v", err)
	}
}

// inContainer finds the file on this machine that a container sees under a path: of mounts in mounts the innermost.
func inContainer(t *testing.T, service, path string) string {
	t.Helper()
	longest, found := 0, ""
	for _, mount := range project(t, stackFile).Services[service].Volumes {
		if rest, err := filepath.Rel(mount.Target, path); err == nil && filepath.IsLocal(rest) && len(mount.Target) > longest {
			longest, found = len(mount.Target), filepath.Join(mount.Source, rest)
		}
	}
	if found == "" {
		t.Fatalf("%s does not see %s", service, path)
	}
	return found
}

func TestPrometheusSeesItsConfigurationTargetsAndRules(t *testing.T) {
	parsed, files := configuration(t)
	command := project(t, stackFile).Services["prometheus"].Command
	for _, path := range append(files, argument(command, "config.file")) {
		within := inContainer(t, "prometheus", path)
		if filepath.Base(filepath.Dir(path)) == "targets" { // the files are this machine's
			within = filepath.Dir(within)
		}
		if _, err := os.Stat(within); err != nil {
			t.Error(err)
		}
	}
	rules := 0
	for _, pattern := range parsed.RuleFiles {
		paths, err := filepath.Glob(inContainer(t, "prometheus", pattern))
		must(t, err)
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
