package alerts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestHealthyHostsAreSilent keeps the pages of recorded and constructed hosts as they are for
// longer than any alert waits, while a run is active: nothing may fire.
func TestHealthyHostsAreSilent(t *testing.T) {
	for _, host := range []string{"h200-load", "gb10-load", "no-gpu"} {
		t.Run(host, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join("../exporter/testdata", host+".prom"))
			if err != nil {
				t.Fatal(err)
			}
			series := "load 15s\n" + standing(string(page), host) +
				fmt.Sprintf("  uma_run_active{host=%q,job=\"uma-load\",run=\"r\",arm=\"native\",scenario=\"standard\"} 1x120\n", host) +
				fmt.Sprintf("  uma_run_phase{host=%q,job=\"uma-load\",run=\"r\",phase=\"measure\"} 1x120\n", host)
			if !strings.Contains(series, `uma_exporter_mode{host=`) {
				t.Fatalf("no modes in\n%s", series)
			}
			var rules [][]byte
			for _, group := range Groups() {
				rules = append(rules, []byte(render(t)[group.Name+".yaml"]))
			}
			book := load(t, rules...)
			book.replay(t, series, 30*time.Minute, 15*time.Second, func(now time.Duration) {
				if fired := book.firing(""); fired != "" {
					t.Fatalf("after %s: %s", now, fired)
				}
			})
		})
	}
}

// standing writes every sample of a page as a series that keeps its value for half an hour.
func standing(page, host string) string {
	sample := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	var b strings.Builder
	for _, line := range strings.Split(page, "\n") {
		if match := sample.FindStringSubmatch(line); match != nil {
			fmt.Fprintf(&b, "  %s{host=%q,job=\"uma-exporter\",instance=\"a:10420\",%s} %sx120\n", match[1], host, match[2], match[3])
		}
	}
	return b.String()
}
