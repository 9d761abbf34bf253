package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// substitution replaces a text everywhere in a file of the project. A text that is not found is an error: the file has
// changed, and the proof would not apply to it.
type substitution struct {
	old, new, why string
}

// substitute makes a copy of a file.
func substitute(from, to string, all []substitution) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	changed, err := replace(string(text), all)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, []byte(changed), 0o644)
}

func replace(text string, all []substitution) (string, error) {
	for _, s := range all {
		if !strings.Contains(text, s.old) {
			return "", fmt.Errorf("has no %q, which is to be replaced (%s)", s.old, s.why)
		}
		text = strings.ReplaceAll(text, s.old, s.new)
	}
	return text, nil
}

// interval is the scrape interval of the copy; the project's own interval is 5 s, of finished runs 30 s. The evaluation
// interval of rules is unchanged.
const interval = "2s"

// prometheusSubstitutions make the configuration of the stack one of this machine.
func (s *stage) prometheusSubstitutions() []substitution {
	return []substitution{
		{"scrape_interval: 5s", "scrape_interval: " + interval, "the test has minutes"},
		{"scrape_timeout: 5s", "scrape_timeout: " + interval, "must not be above the interval"},
		{"scrape_interval: 30s", "scrape_interval: " + interval, "of finished runs, of which there are few here"},
		{"scrape_timeout: 20s", "scrape_timeout: " + interval, "must not be above the interval"},
		{"/etc/umascope/alerts/", s.path("alerts") + "/", "the rules are mounted there in the container"},
		{"/etc/umascope/prometheus/targets/", s.path("targets") + "/", "targets of this test"},
		{`"alertmanager:9093"`, `"` + s.alertmanagerAddress + `"`, "the name is one of the stack's network"},
		{`"127.0.0.1:9090"`, `"` + s.prometheusAddress + `"`, "another Prometheus may run here"},
	}
}

// ending are the alerts whose end the test waits for. They keep firing for five minutes and more after their cause has
// gone, against flapping; in the copy for less. Expressions and the time that they must hold stay unchanged, and so
// does this time of all other alerts: OOMKill needs it to keep firing when its exporter is gone.
func ending() []string { return []string{"MemoryAvailableLow", "GPUHot", "ExporterDown"} }

const keptFor = "10s"

// shortened lowers keep_firing_for of the alerts named, and counts the rules in which it did.
func shortened(rules string, alerts []string) (text string, changed map[string]int) {
	changed = map[string]int{}
	blocks := regexp.MustCompile(`(?m)^  - (alert|record): `).FindAllStringIndex(rules, -1)
	var b strings.Builder
	last := 0
	for i, at := range blocks {
		end := len(rules)
		if i+1 < len(blocks) {
			end = blocks[i+1][0]
		}
		b.WriteString(rules[last:at[0]])
		block := rules[at[0]:end]
		for _, alert := range alerts {
			if strings.HasPrefix(block, "  - alert: "+alert+"\n") {
				kept := regexp.MustCompile(`(?m)^    keep_firing_for: \w+$`)
				if kept.MatchString(block) {
					block = kept.ReplaceAllString(block, "    keep_firing_for: "+keptFor)
					changed[alert]++
				}
			}
		}
		b.WriteString(block)
		last = end
	}
	b.WriteString(rules[last:])
	return b.String(), changed
}

// copyRules copies alerts/*.yaml as prometheus.yml names them, shortened.
func (s *stage) copyRules() (count int, err error) {
	paths, err := filepath.Glob(filepath.Join(s.files.checkout, "alerts", "*.yaml"))
	if err != nil {
		return 0, err
	}
	lowered := map[string]int{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		copied, changed := shortened(string(text), ending())
		for alert, n := range changed {
			lowered[alert] += n
		}
		if err := os.WriteFile(s.path("alerts", filepath.Base(path)), []byte(copied), 0o644); err != nil {
			return 0, err
		}
	}
	for _, alert := range ending() {
		if lowered[alert] == 0 {
			return 0, fmt.Errorf("no rule of %s in alerts/*.yaml has a keep_firing_for to lower", alert)
		}
	}
	return len(paths), nil
}
