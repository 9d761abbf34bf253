package compose

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/config"
	"go.yaml.in/yaml/v4"
)

// tlsExamples are the two examples of TLS.md: what is added to the stack, and the job of the hub.
func tlsExamples(t *testing.T) (stack, job string) {
	t.Helper()
	text := readText(t, "TLS.md")
	found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(found) != 2 {
		t.Fatalf("TLS.md has %d examples of YAML", len(found))
	}
	return found[0][1], found[1][1]
}

// exporterCommand is the exporter's command line of a Compose file.
func exporterCommand(t *testing.T, text string) []string {
	t.Helper()
	var file struct {
		Services map[string]struct {
			Command []string `yaml:"command"`
		} `yaml:"services"`
	}
	must(t, yaml.Unmarshal([]byte(text), &file))
	return file.Services["exporter"].Command
}

// TestTheExampleOfTLSLosesNoFlagOfTheExporter: a command line replaces the other one as a whole.
func TestTheExampleOfTLSLosesNoFlagOfTheExporter(t *testing.T) {
	stack, _ := tlsExamples(t)
	base := readText(t, stackFile)
	without := func(flags []string) []string {
		return slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return strings.HasPrefix(f, "--web.") })
	}
	example := exporterCommand(t, stack)
	if want := without(exporterCommand(t, base)); len(want) == 0 || !slices.Equal(without(example), want) {
		t.Errorf("TLS.md has %v, %s %v", example, stackFile, want)
	}
	if !slices.Contains(example, "--web.listen-address=127.0.0.1:10420") || !slices.Contains(example, "--web.config.file=/etc/umascope/tls/web.yml") {
		t.Errorf("TLS.md has %v", example)
	}
}

// TestTheJobOfTLSIsOneThatPrometheusTakes also holds that its series belong to the exporter's job.
func TestTheJobOfTLSIsOneThatPrometheusTakes(t *testing.T) {
	_, job := tlsExamples(t)
	parsed, err := config.Load("scrape_configs:\n"+fileTargets.ReplaceAllString(job, `static_configs: [{targets: ["a:1"]}]`), quiet())
	must(t, err)
	jobs, err := parsed.GetScrapeConfigs()
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	one := jobs[0]
	if one.Scheme != "https" || one.HTTPClientConfig.BasicAuth == nil || one.HTTPClientConfig.TLSConfig.CAFile == "" || one.HTTPClientConfig.TLSConfig.InsecureSkipVerify {
		t.Errorf("%+v", one.HTTPClientConfig)
	}
	stack, _ := configuration(t)
	if len(one.RelabelConfigs) != 1 || one.RelabelConfigs[0].TargetLabel != "job" || one.RelabelConfigs[0].Replacement != stack.ScrapeConfigs[0].JobName {
		t.Errorf("its series are of another job: %+v", one.RelabelConfigs)
	}
}
