package alerts

import (
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// File is a file to be written into this package's folder.
type File struct {
	Name    string
	Content []byte
}

// Files renders the rule files, one per group, the configuration of Alertmanager, and the runbooks.
func Files() ([]File, error) {
	files, err := FilesFor(Settings{})
	return append(files, runbooks(Groups())...), err
}

// Settings are what is different in the rules of another Prometheus.
type Settings struct {
	Names expr.Names
	// Labels are added to every alert.
	Labels map[string]string
}

// WithLabel returns the settings with one more label of alerts. One that alerts have already is refused.
func (s Settings) WithLabel(name, value string) (Settings, error) {
	if err := expr.CheckNewLabel(name); err != nil {
		return s, fmt.Errorf("%s %w", name, err)
	}
	if _, given := s.Labels[name]; given || name == s.Names.Label(metric.LabelHost) {
		return s, fmt.Errorf("%s is given twice", name)
	}
	if value == "" || !utf8.ValidString(value) || strings.Contains(value, "{{") {
		return s, fmt.Errorf("%s: want a value in UTF-8 that is not empty and no template", name)
	}
	added := maps.Clone(s.Labels)
	if added == nil {
		added = map[string]string{}
	}
	added[name] = value
	s.Labels = added
	return s, nil
}

// FilesFor renders the rule files and the configuration of Alertmanager with other settings.
func FilesFor(s Settings) ([]File, error) {
	var files []File
	for _, group := range Groups() {
		content, err := group.rules(s)
		if err != nil {
			return nil, fmt.Errorf("group %s: %w", group.Name, err)
		}
		files = append(files, File{Name: group.Name + ".yaml", Content: content})
	}
	routing, err := alertmanager(Groups(), s.Names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", alertmanagerName, err)
	}
	return append(files, File{Name: alertmanagerName, Content: routing}), nil
}

// The rule file of Prometheus. These structs are our own because Prometheus' would link its parser into uma-gen; a test
// reads the files back with Prometheus' code.
type (
	ruleFile struct {
		Groups []ruleGroup `yaml:"groups"`
	}
	ruleGroup struct {
		Name     string     `yaml:"name"`
		Interval string     `yaml:"interval,omitempty"`
		Rules    []fileRule `yaml:"rules"`
	}
	fileRule struct {
		Record        string            `yaml:"record,omitempty"`
		Alert         string            `yaml:"alert,omitempty"`
		Expr          string            `yaml:"expr"`
		For           string            `yaml:"for,omitempty"`
		KeepFiringFor string            `yaml:"keep_firing_for,omitempty"`
		Labels        map[string]string `yaml:"labels,omitempty"`
		Annotations   map[string]string `yaml:"annotations,omitempty"`
	}
)

const generated = "# Written by uma-gen from package alerts; change it there.\n"

// groupName is the name of a group for Prometheus, where it stands beside those of others.
func groupName(name string) string { return "umascope-" + name }

// rules renders a group.
func (g Group) rules(s Settings) ([]byte, error) {
	written, err := g.written(s)
	if err != nil {
		return nil, err
	}
	content, err := yaml.Dump(ruleFile{Groups: []ruleGroup{written}}, yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	return append([]byte(generated), content...), nil
}

// written is the group as it is in the file.
func (g Group) written(s Settings) (ruleGroup, error) {
	written := ruleGroup{Name: groupName(g.Name), Interval: duration(g.Every)}
	for _, recording := range g.Recordings {
		if err := recording.check(); err != nil {
			return written, err
		}
		written.Rules = append(written.Rules, fileRule{Record: recording.As.Def().Name, Expr: recording.Expr.Named(s.Names)})
	}
	for _, alert := range g.Alerts {
		if err := alert.check(); err != nil {
			return written, err
		}
		for _, rule := range alert.Rules {
			if err := alert.About.labelled(rule.Expr).Err(); err != nil {
				return written, fmt.Errorf("alert %s: %w", alert.Name, err)
			}
			written.Rules = append(written.Rules, rule.of(alert, g, s))
		}
	}
	return written, nil
}

// of returns the rule as it is in the file, with the fields that every rule has.
func (r Rule) of(alert Alert, group Group, s Settings) fileRule {
	labels := map[string]string{string(metric.LabelSeverity): string(r.Severity)}
	maps.Copy(labels, s.Labels)
	return fileRule{
		Alert:         alert.Name,
		Expr:          alert.About.labelled(r.Expr).Named(s.Names),
		For:           duration(r.For),
		KeepFiringFor: duration(r.KeepFiringFor),
		Labels:        labels,
		Annotations: map[string]string{
			"summary":     alert.Summary,
			"description": alert.About.subject(s.Names) + r.Description,
			"runbook_url": group.RunbookURL(alert),
		},
	}
}

// duration formats a duration as Prometheus does, "" for none.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return model.Duration(d).String()
}
