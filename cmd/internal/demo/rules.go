package demo

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/alerts"
)

// timeFactor divides what takes minutes on a real machine, so that it fits into a demo: all durations in the demo's copy
// of the rules, the heat that its machines store, and the time between two scrapes. A minute of a rule is two seconds.
const timeFactor = 30

const (
	// scrapeInterval has four scrapes in the shortest range of the rules, a minute.
	scrapeInterval = 500 * time.Millisecond
	// ruleInterval is the longest time between two evaluations of a group: the demo ends only when the alerts about its
	// last runs have had their time.
	ruleInterval = 500 * time.Millisecond
	// runsInterval is the time between two scrapes of finished runs.
	runsInterval = time.Second
)

// writeRules writes the shipped rules with all their durations divided by timeFactor.
func writeRules(folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	files, err := alerts.Files()
	if err != nil {
		return err
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name, ".yaml") { // the other files are Alertmanager's and the runbook
			continue
		}
		content, err := scaledRules(file.Content)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, file.Name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// scaledRules divides the durations in a file of rules: for, keep_firing_for, and those in expressions. All groups are
// evaluated every ruleInterval.
func scaledRules(content []byte) ([]byte, error) {
	reader := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.Parse(content, false, model.UTF8Validation, reader, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errs[0]
	}
	for i := range groups.Groups {
		group := &groups.Groups[i]
		group.Interval = model.Duration(ruleInterval) // the scaled ones are longer
		for j := range group.Rules {
			rule := &group.Rules[j]
			rule.For, rule.KeepFiringFor = scaledTo(rule.For), scaledTo(rule.KeepFiringFor)
			expression, err := reader.ParseExpr(rule.Expr)
			if err != nil {
				return nil, err
			}
			if err := scaleExpression(expression); err != nil {
				return nil, fmt.Errorf("%s%s: %w", rule.Record, rule.Alert, err)
			}
			rule.Expr = expression.String()
		}
	}
	return yaml.Marshal(groups)
}

func scaledTo(d model.Duration) model.Duration { return model.Duration(scaled(time.Duration(d))) }

// scaled returns the time that a duration of the rules takes in the demo, in the resolution of PromQL.
func scaled(d time.Duration) time.Duration { return (d / timeFactor).Truncate(time.Millisecond) }

// scaleExpression divides ranges, offsets, subqueries and numbers of seconds in a parsed expression.
func scaleExpression(expression parser.Expr) (err error) {
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.MatrixSelector:
			n.Range = scaled(n.Range)
		case *parser.VectorSelector:
			n.OriginalOffset = scaled(n.OriginalOffset)
		case *parser.SubqueryExpr:
			n.Range, n.Step, n.OriginalOffset = scaled(n.Range), scaled(n.Step), scaled(n.OriginalOffset)
		case *parser.Call:
			if n.Func.Name != "predict_linear" { // the function with a number of seconds
				break
			}
			if seconds, is := n.Args[1].(*parser.NumberLiteral); is {
				seconds.Val /= timeFactor
			} else {
				err = fmt.Errorf("the second argument of %s is no number", n)
			}
		}
		return nil
	})
	return err
}
