package exporter

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/metric"
)

func TestTwoHundredScrapesOfABlockedCollectorAreAllAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		handler := scripted(t, Settings{MaxRequests: 2}, func(context.Context, *collector.Sample, *collector.Batch) error {
			runs.Add(1)
			time.Sleep(time.Minute)
			return nil
		}).Handler()
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() {
				response := get(t, handler, "/metrics", "X-Prometheus-Scrape-Timeout-Seconds", "5")
				if page := body(t, response); response.StatusCode != http.StatusOK || !strings.Contains(page, `uma_collector_state{collector="script",state="failed"} 1`) {
					t.Errorf("%s: %.200s", response.Status, page)
				}
			})
		}
		group.Wait()
		if got := runs.Load(); got != 1 {
			t.Errorf("%d collections for scrapes that overlap", got)
		}
		time.Sleep(time.Hour) // until the collector has ended
	})
}

// TestTwoHundredScrapesOverTheNetworkAreAllAnswered has real connections and the default limit.
func TestTwoHundredScrapesOverTheNetworkAreAllAnswered(t *testing.T) {
	release := make(chan struct{})
	e := scripted(t, Settings{}, func(_ context.Context, _ *collector.Sample, b *collector.Batch) error {
		<-release
		return one(t.Context(), nil, b)
	})
	server := httptest.NewServer(e.Handler())
	defer server.Close()
	const scrapes = 200
	answers := make(chan error, scrapes)
	for range scrapes {
		go func() { answers <- fetchPage(server.URL + "/metrics") }()
	}
	for len(e.pages.waiting) < scrapes {
		time.Sleep(time.Millisecond) // until all have arrived
	}
	close(release)
	for range scrapes {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

func fetchPage(address string) error {
	response, err := http.Get(address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(page), `uma_memory_ledger_bytes{line="free"} 1`) {
		return fmt.Errorf("%s: %v: %.200s", response.Status, err, page)
	}
	return nil
}

func TestRequestsBeyondAllRoomAreRefusedAndHealthIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := scripted(t, Settings{}, func(context.Context, *collector.Sample, *collector.Batch) error {
			time.Sleep(time.Second)
			return nil
		}).Handler()
		for range maxWaiting {
			go get(t, handler, "/metrics")
		}
		synctest.Wait()
		response := get(t, handler, "/metrics")
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
			t.Errorf("one request more: %s, headers %v", response.Status, response.Header)
		}
		if got := get(t, handler, "/-/healthy").StatusCode; got != http.StatusOK {
			t.Errorf("health while scrapes pile up: %d", got)
		}
		time.Sleep(2 * time.Second)
		if got := get(t, handler, "/metrics").StatusCode; got != http.StatusOK {
			t.Errorf("request after the others ended: %d", got)
		}
	})
}

func TestPageThatGetsNoTurnIsRefusedWhenItsScraperGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := scripted(t, Settings{MaxRequests: 1}, one)
		e.pages.slots <- struct{}{} // a page that is in progress and does not end
		began := time.Now()
		response := get(t, e.Handler(), "/metrics", "X-Prometheus-Scrape-Timeout-Seconds", "3")
		if took := time.Since(began); response.StatusCode != http.StatusServiceUnavailable || took != 3*time.Second {
			t.Errorf("%s after %v", response.Status, took)
		}
		<-e.pages.slots
		if got := get(t, e.Handler(), "/metrics").StatusCode; got != http.StatusOK {
			t.Errorf("with a turn: %d", got)
		}
	})
}

// TestReadersThatTakeNothingDelayNoOther has more of them than pages may be made at a time.
func TestReadersThatTakeNothingDelayNoOther(t *testing.T) {
	e := scripted(t, Settings{MaxRequests: 2}, func(_ context.Context, _ *collector.Sample, b *collector.Batch) error {
		b.Gauge(metric.MemoryLedgerBytes, 1, "free")
		// More than the kernel keeps for a reader, so that the handler really has to wait.
		b.Gauge(metric.MemoryLedgerBytes, 2, strings.Repeat("x", 16<<20))
		return nil
	})
	server := httptest.NewUnstartedServer(e.Handler())
	server.Config.WriteTimeout = time.Hour
	server.Start()
	defer server.Close()
	for range 5 {
		reader, err := net.Dial("tcp", server.Listener.Addr().String())
		must(t, err)
		defer reader.Close()
		if _, err := io.WriteString(reader, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		// The status line shows that the page is made and being sent.
		if _, err := io.ReadFull(reader, make([]byte, len("HTTP/1.1 200"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := fetchPage(server.URL + "/metrics"); err != nil {
		t.Error(err)
	}
	if waiting := len(e.pages.slots); waiting != 0 {
		t.Errorf("%d pages are still being made", waiting)
	}
}

func TestReaderThatTakesNothingIsGivenUp(t *testing.T) {
	limit := (&commandLine{}).serverSettings(scripted(t, Settings{CollectTimeout: 3 * time.Second}, one)).WriteTimeout
	if limit <= 3*time.Second || limit > time.Minute {
		t.Errorf("write timeout %v", limit)
	}
	// The same with a deadline that a test can wait for.
	began := make(chan struct{})
	e := scripted(t, Settings{}, func(_ context.Context, _ *collector.Sample, b *collector.Batch) error {
		close(began)
		b.Gauge(metric.MemoryLedgerBytes, 2, strings.Repeat("x", 16<<20))
		return nil
	})
	patient := httptest.NewUnstartedServer(e.Handler())
	patient.Config.WriteTimeout = 100 * time.Millisecond
	patient.Start()
	defer patient.Close()
	reader, err := net.Dial("tcp", patient.Listener.Addr().String())
	must(t, err)
	defer reader.Close()
	if _, err := io.WriteString(reader, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-began
	for len(e.pages.waiting) > 0 { // a request that is never given up hangs the test
		time.Sleep(time.Millisecond)
	}
}
