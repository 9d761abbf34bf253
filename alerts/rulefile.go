package alerts

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter/metric"
)

// File is a file to be written into this package's folder.
type File struct {
	Name    string
	Content []byte
}

// Files renders the rule files, one per group, the configuration of Alertmanager, and the runbooks.
func Files() ([]File, error) {
	var files []File
	for _, group := range Groups() {
		content, err := group.rules()
		if err != nil {
			return nil, fmt.Errorf("group %s: %w", group.Name, err)
		}
		files = append(files, File{Name: group.Name + ".yaml", Content: content})
	}
	routing, err := alertmanager(Groups())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", alertmanagerName, err)
	}
	files = append(files, File{Name: alertmanagerName, Content: routing})
	return append(files, runbooks(Groups())...), nil
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
func (g Group) rules() ([]byte, error) {
	written := ruleGroup{Name: groupName(g.Name), Interval: duration(g.Every)}
	for _, recording := range g.Recordings {
		if err := recording.check(); err != nil {
			return nil, err
		}
		written.Rules = append(written.Rules, fileRule{Record: recording.As.Def().Name, Expr: recording.Expr.String()})
	}
	for _, alert := range g.Alerts {
		if err := alert.check(); err != nil {
			return nil, err
		}
		for _, rule := range alert.Rules {
			if err := alert.About.labelled(rule.Expr).Err(); err != nil {
				return nil, fmt.Errorf("alert %s: %w", alert.Name, err)
			}
			written.Rules = append(written.Rules, rule.of(alert, g))
		}
	}
	content, err := yaml.Dump(ruleFile{Groups: []ruleGroup{written}}, yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	return append([]byte(generated), content...), nil
}

// of returns the rule as it is in the file, with the fields that every rule has.
func (r Rule) of(alert Alert, group Group) fileRule {
	return fileRule{
		Alert:         alert.Name,
		Expr:          alert.About.labelled(r.Expr).String(),
		For:           duration(r.For),
		KeepFiringFor: duration(r.KeepFiringFor),
		Labels:        map[string]string{string(metric.LabelSeverity): string(r.Severity)},
		Annotations: map[string]string{
			"summary":     alert.Summary,
			"description": alert.About.subject() + r.Description,
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
