package loadgen

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	validation "github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/runner"
)

// liveAddress waits for the run to say where its live metrics are.
func liveAddress(t *testing.T, log *lockedBuffer) string {
	t.Helper()
	output := regexp.MustCompile(`live=http://(\S+)/metrics`)
	await(t, func() bool { return output.MatchString(log.String()) })
	return output.FindStringSubmatch(log.String())[1]
}

// scraped reads a page as Prometheus does.
func scraped(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(validation.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %w", response.StatusCode, err)
	}
	if families[metric.RunActive.Def().Name] == nil {
		return fmt.Errorf("%d families, and no run is active", len(families))
	}
	return nil
}

func TestManyAndSlowReadersOfTheLivePageDoNotDisturbTheRun(t *testing.T) {
	var stdout, stderr lockedBuffer
	code := make(chan int)
	url := engine(t, 2*time.Millisecond)
	go func() {
		code <- Run(t.Context(), append([]string{"run", "--url", url, "--out", t.TempDir(), "--web.listen-address=127.0.0.1:0",
			"--duration=2s", "--concurrency=4", "--warmup=0", "--output-tokens=8"}, uncontended...), &stdout, &stderr)
	}()
	address := liveAddress(t, &stderr)
	for _, output := range []string{"", "GET /metrics HTTP/1.1\r\nHost: " + address + "\r\n\r\n"} { // nothing, and more than is ever read
		for range 20 {
			slow, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer slow.Close()
			if _, err := io.WriteString(slow, strings.Repeat(output, 50)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// With the slow readers they stay below the 128 connections of the page, above which the next takes the place of another.
	var scrapes sync.WaitGroup
	for range 50 {
		scrapes.Go(func() {
			for range 4 {
				if err := scraped("http://" + address + "/metrics"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	scrapes.Wait()
	if got := <-code; got != exitDone {
		t.Errorf("exit %d: %s", got, stderr.String())
	}
}

func TestAHealthcheckTellsARunThatLivesFromOneThatDoesNotAndFromNoAddress(t *testing.T) {
	page, err := runner.OpenLivePage(runner.ListenAddress{HostPort: "127.0.0.1:0", Explicit: true}, runner.Network{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(page.URL(), "http://"), "/metrics")
	check := func(address string) int {
		return Run(t.Context(), []string{"healthcheck", "--web.listen-address", address}, io.Discard, io.Discard)
	}
	if code := check(address); code != exitDone {
		t.Errorf("exit %d", code)
	}
	page.Close()
	if code := check(address); code != exitFailed {
		t.Errorf("exit %d after it was gone", code)
	}
	if code := check("a b:1"); code != exitUsage {
		t.Errorf("exit %d of no address", code)
	}
}
