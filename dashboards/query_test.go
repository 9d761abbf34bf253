package dashboards

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/umascope/umascope/exporter/metric"
)

// variableUse finds $name and ${name:format}; not $1, and not a dollar that ends a pattern.
var variableUse = regexp.MustCompile(`\$\{?([a-zA-Z_]+)`)

func TestVariablesThatAreUsedAreDeclaredAndTheOtherWayRound(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	all := renderAll(t)
	for _, f := range files {
		used := map[string]bool{}
		for _, match := range variableUse.FindAllSubmatch(f.Content, -1) {
			used[string(match[1])] = true
		}
		declared := map[string]bool{"__rate_interval": true, "__all": true, "__data": true, "__url_time_range": true, "__value": true}
		for _, v := range all[f.Name].Templating.List {
			declared[v.Name] = true
			if !used[v.Name] {
				t.Errorf("%s: variable %s is not used", f.Name, v.Name)
			}
			if v.Type == "query" && (v.Refresh != 2 || v.Datasource == nil || v.Datasource.UID != "${datasource}") {
				t.Errorf("%s: variable %s: refresh %d, datasource %v", f.Name, v.Name, v.Refresh, v.Datasource)
			}
			if v.Type == "datasource" && (v.Current != nil || v.Label != "Data source") {
				t.Errorf("%s: data source %v, label %q", f.Name, v.Current, v.Label)
			}
		}
		for name := range used {
			if !declared[name] {
				t.Errorf("%s: variable %s is not declared", f.Name, name)
			}
		}
	}
}

// chosen are the matchers of which one must be on every selector of a series: of the host, or for what
// carries none, of what was measured there.
func chosen(page string, d metric.Def) *regexp.Regexp {
	host := map[string]string{"fleet.json": `host=~"\$hosts"`, "inference.json": `host=~"\$host"`}[page]
	if host == "" {
		host = `host="\$host"`
	}
	switch {
	case d.HasLabel(metric.LabelComparison):
		return regexp.MustCompile(`comparison="\$comparison"`)
	case d.HasLabel(metric.LabelRun):
		return regexp.MustCompile(host + `|run=~?"\$\{?run|run=~"\$run_a\|\$run_b"`)
	default:
		return regexp.MustCompile(host)
	}
}

// ofAllHosts are series that pages may read of every host, with the reason.
func ofAllHosts() map[string]string {
	return map[string]string{
		metric.ResultsRuns.Def().Name: "it is about the folder of runs, which are of any host",
	}
}

// choosing are panels that something is chosen from: they are of all that there is.
func choosing() []string { return []string{"Saved comparisons"} }

func TestEveryQueryIsOfTheChosenHostOrRunAndNoneOfAnAddress(t *testing.T) {
	selector := regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\{[^}]*(?:\$\{[a-z_]+\}[^}]*)*\}`)
	for name, d := range renderAll(t) {
		expressions := []string{}
		for _, p := range d.Panels {
			if slices.Contains(choosing(), p.Title) {
				continue
			}
			for _, q := range p.Targets {
				expressions = append(expressions, q.Expr)
			}
		}
		for _, a := range d.Annotations.List {
			expressions = append(expressions, a.Expr)
		}
		// That rules are evaluated at all shows by the watchdog, which is of no host.
		for i := range expressions {
			expressions[i] = strings.ReplaceAll(expressions[i], `ALERTS{alertstate="firing",severity="none"}`, "watchdog")
			expressions[i] = strings.ReplaceAll(expressions[i], `uma_exporter_mode{host=""}`, "without_host") // which no page could choose
		}
		for _, e := range expressions {
			for _, definer := range metric.Everything() {
				def := definer.Def()
				if ofAllHosts()[def.Name] != "" {
					continue
				}
				// Every mention of a series must be a selector with the matcher.
				mentions := regexp.MustCompile(`(?:^|[^a-zA-Z0-9_:])`+regexp.QuoteMeta(def.Name)+`(?:_bucket|_count|_sum)?(?:[^a-zA-Z0-9_:]|$)`).FindAllString(e, -1)
				found := 0
				for _, s := range selector.FindAllString(e, -1) {
					family, _, _ := strings.Cut(s, "{")
					of := family == def.Name || (def.Kind != metric.KindGauge && slices.Contains([]string{def.Name + "_bucket", def.Name + "_count", def.Name + "_sum"}, family))
					if of && chosen(name, def).MatchString(s) {
						found++
					}
				}
				if len(mentions) != found {
					t.Errorf("%s: %s reads %s of others than were chosen", name, e, def.Name)
				}
			}
			if strings.Contains(e, "instance") {
				t.Errorf("%s: %s depends on an address", name, e)
			}
		}
	}
}

// A host may have two exporters, one with and one without privileges: sums count series of the machine once only
// if the largest of each is taken first. Quantiles do not change when all buckets double.
func TestSumsOverSeriesOfAMachineCountTwoExportersOnce(t *testing.T) {
	fixed := regexp.MustCompile(`\$__rate_interval|\$\{[a-z]+\}`)
	sums := 0
	forPanels(t, func(t *testing.T, p renderedPanel) {
		for _, q := range p.Targets {
			e, err := parser.NewParser(parser.Options{}).ParseExpr(fixed.ReplaceAllString(q.Expr, "1m"))
			if err != nil {
				t.Fatalf("%s: %v", q.Expr, err)
			}
			parser.Inspect(e, func(n parser.Node, path []parser.Node) error {
				sum, is := n.(*parser.AggregateExpr)
				if !is || sum.Op != parser.SUM || slices.Contains(sum.Grouping, string(metric.LabelLE)) {
					return nil
				}
				sums++
				if raw := summedRaw(sum.Expr); raw != "" {
					t.Errorf("%s is summed over exporters in %s", raw, q.Expr)
				}
				return nil
			})
		}
	})
	if sums == 0 {
		t.Error("no sums are looked at")
	}
}

// summedRaw is the family of the chosen host that a sum is of as it is scraped, "" if there is none.
func summedRaw(e parser.Expr) string {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return summedRaw(e.Expr)
	case *parser.Call:
		return summedRaw(e.Args[0])
	case *parser.MatrixSelector:
		return summedRaw(e.VectorSelector)
	case *parser.BinaryExpr:
		return summedRaw(e.LHS)
	case *parser.VectorSelector:
		for _, m := range e.LabelMatchers {
			if m.Name == string(metric.LabelHost) {
				return e.Name
			}
		}
	}
	return ""
}
