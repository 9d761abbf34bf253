package grafana

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The query functions of a query variable (metric_find_query in Grafana's Prometheus library).
var (
	labelValues = regexp.MustCompile(`(?s)^label_values\((?:(.+),\s*)?([a-zA-Z_][a-zA-Z0-9_]*)\)\s*$`)
	queryResult = regexp.MustCompile(`(?s)^query_result\((.+)\)\s*$`)
	metricNames = regexp.MustCompile(`(?s)^metrics\((.+)\)\s*$`)
)

// find runs the query of a query variable. Its variables are written as in a query of a panel; the interval is the data
// source's scrape interval.
func (s Scope) find(ctx context.Context, v Variable, source Source) ([]string, error) {
	scrape := s.Scrape
	if scrape <= 0 {
		scrape = defaultScrape
	}
	question, err := s.Expr(v.Query, scrape, 0)
	if err != nil {
		return nil, err
	}
	if match := labelValues.FindStringSubmatch(question); match != nil {
		selector := strings.TrimSpace(match[1])
		if strings.ReplaceAll(selector, " ", "") == "{}" {
			selector = ""
		}
		return source.LabelValues(ctx, match[2], selector, s.Window)
	}
	if match := queryResult.FindStringSubmatch(question); match != nil {
		answer, err := source.Instant(ctx, match[1], s.Window.To)
		return answer.texts(), err
	}
	if match := metricNames.FindStringSubmatch(question); match != nil {
		return s.metrics(ctx, match[1], source)
	}
	return nil, fmt.Errorf("%q is no question that is known here: want label_values, query_result or metrics", v.Query)
}

// metrics lists the metric names that match a regular expression anywhere.
func (s Scope) metrics(ctx context.Context, pattern string, source Source) ([]string, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	names, err := source.LabelValues(ctx, nameLabel, "", s.Window)
	return slices.DeleteFunc(names, func(name string) bool { return !compiled.MatchString(name) }), err
}

// texts are the lines that Grafana makes of a result, to which it applies the variable's regular expression: a number
// alone for a scalar, and for every sample of a vector its series, its value and its time in milliseconds. Prometheus
// sorts labels by name.
func (a Answer) texts() []string {
	var lines []string
	for _, sample := range a.Samples {
		if a.Scalar {
			lines = append(lines, sample.Value)
			continue
		}
		var labels []string
		for name, value := range sample.Labels {
			if name != nameLabel {
				labels = append(labels, name+`="`+value+`"`) // not escaped: neither does Grafana
			}
		}
		slices.Sort(labels)
		lines = append(lines, sample.Labels[nameLabel]+"{"+strings.Join(labels, ",")+"} "+sample.Value+" "+milliseconds(sample.Time))
	}
	return lines
}

// milliseconds writes a time as Grafana does. Prometheus' times have no finer parts.
func milliseconds(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
