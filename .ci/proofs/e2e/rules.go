package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ruleGroup is a group of rules in Prometheus' API.
type ruleGroup struct {
	Name  string
	Rules []struct{ Name, Query, Health, LastError string }
}

func (s *stage) ruleGroups(ctx context.Context) ([]ruleGroup, error) {
	var answer struct{ Groups []ruleGroup }
	_, err := s.prometheus.get(ctx, "/api/v1/rules", nil, &answer)
	return answer.Groups, err
}

// rulesHealthy checks the results of all evaluations.
func (s *stage) rulesHealthy(ctx context.Context) (string, error) {
	groups, err := s.ruleGroups(ctx)
	if err != nil {
		return "", err
	}
	var problems []error
	rules := 0
	for _, group := range groups {
		for _, rule := range group.Rules {
			rules++
			if rule.Health != "ok" || rule.LastError != "" {
				problems = append(problems, fmt.Errorf("%s: %s is %s: %s", group.Name, rule.Name, rule.Health, rule.LastError))
			}
		}
	}
	own, err := s.ownMetrics(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range []string{
		"prometheus_rule_evaluation_failures_total", "prometheus_rule_group_iterations_missed_total",
		"prometheus_notifications_errors_total", "prometheus_notifications_dropped_total",
		"prometheus_target_scrapes_exceeded_sample_limit_total", "prometheus_target_scrapes_exceeded_body_size_limit_total",
		"prometheus_target_scrapes_sample_duplicate_timestamp_total", "prometheus_target_scrapes_sample_out_of_order_total",
	} {
		if total, there := own[name]; !there || total != 0 {
			problems = append(problems, fmt.Errorf("%s is %v (%v)", name, total, there))
		}
	}
	evaluations := own["prometheus_rule_evaluations_total"]
	if evaluations == 0 || rules == 0 {
		problems = append(problems, errors.New("nothing was evaluated"))
	}
	return fmt.Sprintf("%d rules in %d groups, %.0f evaluations", rules, len(groups), evaluations), errors.Join(problems...)
}

// ownMetrics adds up Prometheus' own counters by name.
func (s *stage) ownMetrics(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.prometheus.base+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	totals := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, _, _ := strings.Cut(strings.Fields(lines.Text() + " ")[0], "{")
		value, err := strconv.ParseFloat(lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:], 64)
		if err == nil && name != "#" {
			totals[name] += value
		}
	}
	return totals, lines.Err()
}

// rulesNames queries every name that a rule reads. A rule that reads a name without series can never fire; this is an
// error unless the name is listed with a reason. Then it checks the list itself.
func (p *proof) rulesNames(ctx context.Context) (string, error) {
	groups, err := p.stage.ruleGroups(ctx)
	if err != nil {
		return "", err
	}
	readers := map[string]string{} // a rule that reads the name
	for _, group := range groups {
		for _, rule := range group.Rules {
			read, err := selectorsOf(rule.Query)
			if err != nil {
				return "", fmt.Errorf("%s: %w", rule.Name, err)
			}
			for _, one := range read {
				readers[one.name] = rule.Name
			}
		}
	}
	var problems []error
	missing := 0
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		there, err := p.stage.exists(ctx, name)
		if err != nil {
			return "", err
		}
		if there {
			continue
		}
		missing++
		listed, excused, err := p.stage.excuse(ctx, name)
		if err != nil || !excused {
			problems = append(problems, fmt.Errorf("%s has no series, and %s reads it: %w", name, readers[name], err))
		}
		p.used[listed.selector()] = true
	}
	return fmt.Sprintf("%d names, %d of them not here for a written reason", len(readers), missing), errors.Join(append(problems, p.stillAbsent(ctx))...)
}

// stillAbsent returns an error for every listed series that exists, or that no query reads.
func (p *proof) stillAbsent(ctx context.Context) error {
	var problems []error
	for _, listed := range absent() {
		there, err := p.stage.exists(ctx, listed.selector())
		switch {
		case listed.chance:
		case err != nil:
			problems = append(problems, err)
		case there:
			problems = append(problems, fmt.Errorf("%s is listed as absent (%s), and is here", listed.selector(), listed.why))
		case !p.used[listed.selector()]:
			problems = append(problems, fmt.Errorf("%s is listed as absent, and nothing asks for it", listed.selector()))
		}
	}
	return errors.Join(problems...)
}
