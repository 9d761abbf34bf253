package expr

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/umascope/umascope/exporter/metric"
)

// renamed parses a text and gives a label another name wherever PromQL has names of labels.
func renamed(t *testing.T, text, from, to string) string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(strings.NewReplacer(string(RateInterval), "1m", "${shift}", "-60.5").Replace(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	rename := func(names []string) {
		for i := range names {
			if names[i] == from {
				names[i] = to
			}
		}
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			for _, m := range n.LabelMatchers {
				if m.Name == from {
					m.Name = to
				}
			}
		case *parser.AggregateExpr:
			rename(n.Grouping)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				rename(n.VectorMatching.MatchingLabels)
				rename(n.VectorMatching.Include)
			}
		case *parser.Call:
			for i := range n.Args {
				if name, is := n.Args[i].(*parser.StringLiteral); is && n.Func.Name == "label_replace" && (i == 1 || i == 3) && name.Val == from {
					name.Val = to
				}
			}
		}
		return nil
	})
	return parsed.String()
}

func named(t *testing.T, host, exporters string) Names {
	t.Helper()
	n, err := Names{}.WithHost(host)
	if err == nil && exporters != "" {
		n, err = n.WithExporters(exporters)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheLabelOfTheMachineIsRenamedWhereverItIsNamed(t *testing.T) {
	ledger := Select(metric.MemoryLedgerBytes, Is(metric.LabelHost, "host"))
	copied := []Expr{
		ledger.Copied(metric.LabelHost, "(.*)", metric.LabelName, "host"), ledger.Copied(metric.LabelLine, "host", metric.LabelHost, "$1"),
		ledger.Labelled(metric.LabelHost, "host"), Absent(metric.Up, Is(metric.LabelHost, "a")),
	}
	for _, b := range built() {
		copied = append(copied, b.expr)
	}
	n := named(t, "instance", "")
	for _, e := range copied {
		if err := e.Err(); err != nil {
			t.Fatal(err)
		}
		want := renamed(t, e.String(), "host", "instance")
		if got := renamed(t, e.Named(n), "host", "left_over"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", e, got, want)
		}
	}
}

func TestASelectorOfExportersIsWrittenInPlaceOfTheirJob(t *testing.T) {
	up := Select(metric.Up, Is(metric.LabelJob, metric.JobExporter), Is(metric.LabelHost, "a"))
	other := Select(metric.Up, Is(metric.LabelJob, metric.JobLoad))
	n := named(t, "node", `job=~"uma.*|a\"b" , cluster != `+"`x\\y`")
	if got, want := up.Named(n), `up{job=~"uma.*|a\"b",cluster!="x\\y",node="a"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := other.Named(n), `up{job="uma-load"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestALabelThatSeriesHaveIsNoLabelOfTheMachine(t *testing.T) {
	for label, reason := range map[string]string{
		"gpu": "uma_gpu_info already", "mode": "already", "alertname": "already", "job": "Prometheus itself", "le": "Prometheus itself",
		"quantile": "Prometheus itself", "__name__": "no name", "": "no name", "a-b": "no name", "1a": "no name", "k8s.node": "no name",
	} {
		if _, err := (Names{}).WithHost(label); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q", label, err, reason)
		}
	}
	for _, label := range []string{"host", "instance", "node", "nodename", "Machine_2"} {
		if n, err := (Names{}).WithHost(label); err != nil || n.Label(metric.LabelHost) != label {
			t.Errorf("%q: %v, %q", label, err, n.Label(metric.LabelHost))
		}
	}
	if err := CheckNewLabel("host"); err == nil {
		t.Error("host is new")
	}
}

func TestASelectorThatPrometheusDoesNotParseIsRefused(t *testing.T) {
	for _, selector := range []string{"", "uma-exporter", "job=x", `{job="x"}`, `job="x`, `job="x" cluster="y"`, `job=~"("`, `job=~"a)(b"`, `job="x",`, `job='x'`, "job=\"\xff\"", `__name__="x"`, `"job"="x"`, `job=="x"`} {
		if n, err := (Names{}).WithExporters(selector); err == nil {
			t.Errorf("%s: accepted as %v", selector, n.exporters)
		}
	}
}

// FuzzASelectorMeansTheSameToPrometheus: what is accepted is the selector that Prometheus reads.
func FuzzASelectorMeansTheSameToPrometheus(f *testing.F) {
	for _, seed := range []string{`job="x"`, `job=~"a|b",cluster!="c"`, "job!~`\\d`", `job="\u00e9\n"`, `job = "a,b=\"c\""`, `__name__="up"`, "A\f=\"\"", `A="\ufffd"`, `A!~"a)(b"`} {
		f.Add(seed)
	}
	grammar := parser.NewParser(parser.Options{})
	f.Fuzz(func(t *testing.T, selector string) {
		n, err := Names{}.WithExporters(selector)
		if err != nil {
			return
		}
		given, err := grammar.ParseMetricSelector("up{" + selector + "}")
		if err != nil {
			t.Fatalf("%s: %v", selector, err)
		}
		written := Select(metric.Up, Is(metric.LabelJob, metric.JobExporter)).Named(n)
		read, err := grammar.ParseMetricSelector(written)
		if err != nil || describe(read) != describe(given) {
			t.Errorf("%s is written as %s: %v", selector, written, err)
		}
	})
}

func describe(matchers []*labels.Matcher) string {
	var b strings.Builder
	for _, m := range matchers {
		b.WriteString(m.String() + "\n")
	}
	return b.String()
}
