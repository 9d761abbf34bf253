package alerts

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"text/template/parse"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// otherSettings has the machine in instance, exporters in a job of another name, and one more label of alerts.
func otherSettings(t *testing.T) Settings {
	t.Helper()
	names, err := expr.Names{}.WithHost("instance")
	if err != nil {
		t.Fatal(err)
	}
	if names, err = names.WithExporters(`job="integrations/uma-exporter",cluster="desk"`); err != nil {
		t.Fatal(err)
	}
	settings, err := Settings{Names: names}.WithLabel("team", "x")
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func otherFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := FilesFor(otherSettings(t))
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string][]byte{}
	for _, f := range files {
		contents[f.Name] = f.Content
	}
	return contents
}

// otherNames gives the labels of a series or an alert the names of the other Prometheus. The address of the target, which
// is in instance in umascope's own, is out of the way in address.
func otherNames(own map[string]string) map[string]string {
	other := map[string]string{}
	for name, value := range own {
		switch name {
		case "host":
			name = "instance"
		case "instance":
			name = "address"
		}
		other[name] = value
	}
	if other["job"] == metric.JobExporter {
		other["job"], other["cluster"] = "integrations/uma-exporter", "desk"
	}
	return other
}

// otherSeries is the description of a series with the other names.
func otherSeries(t *testing.T, text string) string {
	t.Helper()
	own, _, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(text + " 1")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return described(labels.FromMap(otherNames(own.Map())))
}

// described is labels as promtool's notation has them.
func described(l labels.Labels) string {
	var pairs []string
	l.Range(func(one labels.Label) {
		if one.Name != model.MetricNameLabel {
			pairs = append(pairs, one.Name+"="+strconv.Quote(one.Value))
		}
	})
	return l.Get(model.MetricNameLabel) + "{" + strings.Join(pairs, ",") + "}"
}

// TestRulesWithOtherNamesFireAndStaySilentAsInTheScenarios: every scenario, with the names of another Prometheus in its
// series and in the alerts that it expects.
func TestRulesWithOtherNamesFireAndStaySilentAsInTheScenarios(t *testing.T) {
	rendered := otherFiles(t)
	for path, file := range scenarios(t) {
		var contents [][]byte
		for _, name := range file.RuleFiles {
			contents = append(contents, rendered[filepath.Base(name)])
		}
		for _, s := range file.Tests {
			for i := range s.InputSeries {
				s.InputSeries[i].Series = otherSeries(t, s.InputSeries[i].Series)
			}
			for _, e := range s.AlertRuleTests {
				for i := range e.ExpAlerts {
					e.ExpAlerts[i].ExpLabels = otherNames(e.ExpAlerts[i].ExpLabels)
					e.ExpAlerts[i].ExpLabels["team"] = "x"
				}
			}
			t.Run(filepath.Base(path)+"/"+s.Name, func(t *testing.T) {
				s.check(t, load(t, contents...), parseDuration(t, file.EvaluationInterval))
			})
		}
	}
}

// TestTemplatesOfOtherNamesReadLabelsThatAlertsHave: a template that reads a label that is missing shows nothing.
func TestTemplatesOfOtherNamesReadLabelsThatAlertsHave(t *testing.T) {
	read := map[string]bool{}
	for _, group := range Groups() {
		rules, err := group.written(otherSettings(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rules.Rules {
			for _, label := range labelsOfTemplate(t, rule.Annotations["description"]) {
				read[label] = true
			}
		}
	}
	if read["host"] || !read["instance"] || !read["run"] {
		t.Errorf("labels in templates: %v", slices.Sorted(maps.Keys(read)))
	}
}

// labelsOfTemplate are the fields of $labels in a template.
func labelsOfTemplate(t *testing.T, text string) []string {
	t.Helper()
	none := func() string { return "" }
	parsed, err := template.New("").Funcs(template.FuncMap{"humanize1024": none, "humanize": none, "humanizePercentage": none, "humanizeDuration": none}).
		Parse("{{ $labels := . }}{{ $value := . }}" + text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var found []string
	var walk func(parse.Node)
	walk = func(node parse.Node) {
		switch n := node.(type) {
		case *parse.ListNode:
			if n != nil {
				for _, one := range n.Nodes {
					walk(one)
				}
			}
		case *parse.ActionNode:
			walk(n.Pipe)
		case *parse.IfNode:
			walk(n.Pipe)
			walk(n.List)
			walk(n.ElseList)
		case *parse.PipeNode:
			for _, command := range n.Cmds {
				for _, arg := range command.Args {
					walk(arg)
				}
			}
		case *parse.VariableNode:
			if len(n.Ident) == 2 && n.Ident[0] == "$labels" {
				found = append(found, n.Ident[1])
			}
		}
	}
	walk(parsed.Root)
	return found
}

func TestAlertmanagerMutesByTheOtherLabel(t *testing.T) {
	config := string(otherFiles(t)[alertmanagerName])
	own, err := os.ReadFile(alertmanagerName)
	if err != nil {
		t.Fatal(err)
	}
	word := func(text, name string) int {
		return len(slices.DeleteFunc(strings.FieldsFunc(text, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_", r) }), func(w string) bool { return w != name }))
	}
	if word(config, "host") != 0 || word(config, "instance") != word(string(own), "host") || word(string(own), "host") < 5 {
		t.Errorf("host %d times, instance %d times, in its own host %d times", word(config, "host"), word(config, "instance"), word(string(own), "host"))
	}
}

func TestALabelThatAlertsHaveIsNotAddedToThem(t *testing.T) {
	named, err := expr.Names{}.WithHost("instance")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, value string }{
		{"severity", "x"}, {"alertname", "x"}, {"host", "x"}, {"instance", "x"}, {"mode", "x"}, {"uuid", "x"}, {"", "x"}, {"a b", "x"},
		{"team", ""}, {"team", "{{ $value }}"}, {"team", "\xff"},
	} {
		if s, err := (Settings{Names: named}).WithLabel(c.name, c.value); err == nil {
			t.Errorf("%s=%s is accepted: %v", c.name, c.value, s.Labels)
		}
	}
	s, err := Settings{}.WithLabel("team", "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WithLabel("team", "y"); err == nil {
		t.Error("a label is accepted twice")
	}
}
