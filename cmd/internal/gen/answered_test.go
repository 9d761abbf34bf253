package gen

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// emptyOnAHealthyHost are parts of expressions that rightly find nothing there.
func emptyOnAHealthyHost() map[string]string {
	return map[string]string{
		`line="zfs_arc"`:                "the host has no ZFS",
		`uma_memory_ledger_line_known{`: "every line is known",
		`ALERTS{`:                       "no alert fires",
	}
}

// TestEveryPanelShowsSomethingOnALoadedSpark asks all queries of the dashboards about the page of
// a host, because a label value that no exporter gives is a mistake that no parser finds.
func TestEveryPanelShowsSomethingOnALoadedSpark(t *testing.T) {
	const host = "gb10-load"
	page, err := os.ReadFile(filepath.Join(root, "exporter/testdata", host+".prom"))
	if err != nil {
		t.Fatal(err)
	}
	storage := promqltest.LoadedStorage(t, "load 15s\n"+standing(string(page), host)+
		fmt.Sprintf("  uma_run_active{host=%q,run=\"r\",arm=\"native\",scenario=\"standard\"} 1x80\n", host))
	defer storage.Close()
	engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{}),
	})
	asked := 0
	for _, e := range renderedExpressions(t) {
		if !strings.HasPrefix(e.where, "dashboards/") {
			continue
		}
		asked++
		text := strings.NewReplacer("$host", host, "$__rate_interval", "1m").Replace(e.text)
		query, err := engine.NewInstantQuery(t.Context(), storage, nil, text, time.Unix(0, 0).Add(15*time.Minute))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		vector, err := query.Exec(t.Context()).Vector()
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if len(vector) == 0 && !mayBeEmpty(text) {
			t.Errorf("%s shows nothing: %s", e.where, text)
		}
		query.Close()
	}
	if asked == 0 {
		t.Error("no dashboard asks anything")
	}
}

func mayBeEmpty(text string) bool {
	for part := range emptyOnAHealthyHost() {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// standing writes every sample of a page as a series that keeps its value for 20 minutes.
func standing(page, host string) string {
	sample := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	var b strings.Builder
	for _, line := range strings.Split(page, "\n") {
		if match := sample.FindStringSubmatch(line); match != nil {
			fmt.Fprintf(&b, "  %s{host=%q,job=\"uma-exporter\",instance=\"a:10420\",%s} %sx80\n", match[1], host, match[2], match[3])
		}
	}
	return b.String()
}
