package alerts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// TestHealthyHostsAreSilent keeps the pages of recorded and constructed hosts as they are for
// longer than any alert waits, while a run is active: nothing may fire.
func TestHealthyHostsAreSilent(t *testing.T) {
	for _, host := range healthyHosts() {
		t.Run(host, func(t *testing.T) {
			whileItStands(t, host, withoutLimits(hostPage(t, host)), func(now time.Duration, book rulebook) {
				if fired := book.firing(t, ""); fired != "" {
					t.Fatalf("after %s: %s", now, fired)
				}
			})
		})
	}
}

// TestTheLimitOfAHealthyContainerIsInformation: on a Spark it counts a tenth of what the container holds. That is a
// fact to know and nothing to wake anybody for.
func TestTheLimitOfAHealthyContainerIsInformation(t *testing.T) {
	whileItStands(t, "gb10-load", hostPage(t, "gb10-load"), func(now time.Duration, book rulebook) {
		fired := book.firing(t, "")
		if strings.Count(fired, "severity:") != 1 || !strings.HasPrefix(fired, "ContainerLimitUncovered ") || !strings.Contains(fired, "severity:info") {
			t.Fatalf("after %s: %s", now, fired)
		}
	})
}

func hostPage(t *testing.T, host string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("../exporter/testdata", host+".prom"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// withoutLimits is the page of the host if none of its containers had a limit.
func withoutLimits(page string) string {
	return regexp.MustCompile(`(?m)^uma_cgroup_(limit_uncovered_ratio|memory_max_bytes)\{.*\n`).ReplaceAllString(page, "")
}

// whileItStands evaluates all rules for half an hour over a host that stays as its page says.
func whileItStands(t *testing.T, host, page string, at func(time.Duration, rulebook)) {
	t.Helper()
	series := "load 15s\n" + standing(page, host) +
		fmt.Sprintf("  up{host=%q,job=\"uma-exporter\",instance=\"a:10420\"} 1x120\n", host) +
		fmt.Sprintf("  uma_run_active{host=%q,job=\"uma-load\",run=\"r\",arm=\"native\",scenario=\"standard\"} 1x120\n", host) +
		fmt.Sprintf("  uma_run_phase{host=%q,job=\"uma-load\",run=\"r\",phase=\"measure\"} 1x120\n", host)
	if !strings.Contains(series, `uma_exporter_mode{host=`) {
		t.Fatalf("no modes in\n%s", series)
	}
	texts := render(t)
	var rules [][]byte
	for _, group := range Groups() {
		rules = append(rules, []byte(texts[group.Name+".yaml"]))
	}
	book := load(t, rules...)
	book.replay(t, series, 30*time.Minute, 30*time.Second, func(now time.Duration) { at(now, book) })
}

// healthyHosts are all hosts in testdata of the exporter but one that has lost a GPU.
func healthyHosts() []string {
	return []string{
		"cgroup-v1", "docker-cgroupfs", "docker-systemd", "engines", "gb10-cma", "gb10-idle", "gb10-load", "gh200", "h200-idle", "h200-llamacpp",
		"h200-load", "h200-vllm-kvbm", "h200x2", "kubernetes", "kvbm-disk", "mig", "no-gpu", "nvidia-fs", "old-kernel", "sim-gb10",
	}
}

// standing writes every sample of a page as a series that keeps its value for half an hour. The time of the
// last success, which the recorded pages have as 0, goes on as it does where the exporter works.
func standing(page, host string) string {
	sample := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	var b strings.Builder
	for _, line := range strings.Split(page, "\n") {
		if match := sample.FindStringSubmatch(line); match != nil {
			value := match[3]
			if match[1] == metric.CollectorLastSuccessTimestampSeconds.Def().Name {
				value += "+15"
			}
			fmt.Fprintf(&b, "  %s{host=%q,job=\"uma-exporter\",instance=\"a:10420\",%s} %sx120\n", match[1], host, match[2], value)
		}
	}
	return b.String()
}
