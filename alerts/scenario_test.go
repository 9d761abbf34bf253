package alerts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"
)

// scenarioFile is the part of promtool's unit test format that the files in testdata use, so that
// `promtool test rules` runs them too.
type scenarioFile struct {
	RuleFiles []string `yaml:"rule_files"`
	// GroupEvalOrder is the order of the groups for promtool; here it is that of the files.
	GroupEvalOrder     []string   `yaml:"group_eval_order"`
	EvaluationInterval string     `yaml:"evaluation_interval"`
	Tests              []scenario `yaml:"tests"`
}

type scenario struct {
	Name        string `yaml:"name"`
	Interval    string `yaml:"interval"`
	InputSeries []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	AlertRuleTests []expectation `yaml:"alert_rule_test"`
}

// expectation is what an alert does at a time; no alerts at all is an expectation too.
type expectation struct {
	EvalTime  string `yaml:"eval_time"`
	AlertName string `yaml:"alertname"`
	ExpAlerts []struct {
		ExpLabels      map[string]string `yaml:"exp_labels"`
		ExpAnnotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

func scenarios(t *testing.T) map[string]scenarioFile {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.test.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	all := map[string]scenarioFile{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file scenarioFile
		if err := yaml.Load(text, &file, yaml.WithKnownFields()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[path] = file
	}
	return all
}

// want writes the alerts that are expected.
func (e expectation) want() string {
	var lines []string
	for _, alert := range e.ExpAlerts {
		lines = append(lines, describe(e.AlertName, alert.ExpLabels, alert.ExpAnnotations))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestAlertsFireAndStaySilentAsInTheScenarios(t *testing.T) {
	for path, file := range scenarios(t) {
		var contents [][]byte
		for _, name := range file.RuleFiles {
			content, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			contents = append(contents, content)
		}
		for _, s := range file.Tests {
			t.Run(filepath.Base(path)+"/"+s.Name, func(t *testing.T) {
				s.check(t, load(t, contents...), parseDuration(t, file.EvaluationInterval))
			})
		}
	}
}

// TestScenariosOfSeveralFilesNameTheOrderOfTheirGroups: promtool takes a name that no group has for no order, and evaluates
// the groups in a different one each time.
func TestScenariosOfSeveralFilesNameTheOrderOfTheirGroups(t *testing.T) {
	for path, file := range scenarios(t) {
		var groups []string
		for _, name := range file.RuleFiles {
			groups = append(groups, groupName(strings.TrimSuffix(filepath.Base(name), ".yaml")))
		}
		if len(groups) > 1 && !slices.Equal(file.GroupEvalOrder, groups) {
			t.Errorf("%s: order %q of the groups %q", path, file.GroupEvalOrder, groups)
		}
	}
}

func (s scenario) check(t *testing.T, book rulebook, interval time.Duration) {
	var end time.Duration
	for _, e := range s.AlertRuleTests {
		end = max(end, parseDuration(t, e.EvalTime))
	}
	series := "load " + s.Interval + "\n"
	for _, input := range s.InputSeries {
		series += "  " + input.Series + " " + input.Values + "\n"
	}
	checked := 0
	book.replay(t, series, end, interval, func(now time.Duration) {
		for _, e := range s.AlertRuleTests {
			if parseDuration(t, e.EvalTime) != now {
				continue
			}
			checked++
			if got := book.firing(t, e.AlertName); got != e.want() {
				t.Errorf("%s at %s:\n got %s\nwant %s", e.AlertName, e.EvalTime, got, e.want())
			}
		}
	})
	if checked != len(s.AlertRuleTests) || checked == 0 {
		t.Errorf("%d of %d expectations were checked: a time is no multiple of the evaluation interval", checked, len(s.AlertRuleTests))
	}
}

func parseDuration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := model.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(d)
}

// TestEveryAlertHasAFiringAndASilentCase counts by severity: an alert that fires at one only is
// half tested.
func TestEveryAlertHasAFiringAndASilentCase(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, file := range scenarios(t) {
		for _, s := range file.Tests {
			for _, e := range s.AlertRuleTests {
				silent[e.AlertName] = silent[e.AlertName] || len(e.ExpAlerts) == 0
				for _, alert := range e.ExpAlerts {
					fires[e.AlertName+" "+alert.ExpLabels["severity"]] = true
				}
			}
		}
	}
	for _, group := range Groups() {
		for _, alert := range group.Alerts {
			// What reads no series cannot keep silent: the watchdog.
			if reads := len(alert.Rules[0].Expr.Metrics()) > 0; reads && !silent[alert.Name] {
				t.Errorf("%s has no silent case", alert.Name)
			}
			for _, rule := range alert.Rules {
				if !fires[alert.Name+" "+string(rule.Severity)] {
					t.Errorf("%s has no firing case as %s", alert.Name, rule.Severity)
				}
			}
		}
	}
}
