package loadgen

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/sim"
)

// simulated serves a quick simulated engine, changed as the test wants it.
func simulated(t testing.TB, change func(*sim.Config)) (*sim.Engine, string) {
	t.Helper()
	config := sim.Default()
	config.PrefillTokensPerSecond, config.DecodeBase, config.DecodePerSequence = math.Inf(1), 0, 0
	change(&config)
	e, err := sim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = e.Run(ctx)
	}()
	server := httptest.NewServer(e.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		cancel()
		<-ended
		server.Close()
	})
	awaitRunning(t, server.URL)
	return e, server.URL
}

// awaitRunning waits until an engine that has been started answers: until then it says 503.
func awaitRunning(t testing.TB, url string) {
	t.Helper()
	for {
		response, err := http.Get(url + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the engine does not start")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestSimulatedEnginesPassForTheVendorThatTheySimulate(t *testing.T) {
	for _, vendor := range sim.Vendors() {
		_, url := simulated(t, func(c *sim.Config) { c.Vendor = vendor })
		var log bytes.Buffer
		found, err := server.Inquire(t.Context(), server.Target{URL: url, Engine: server.EngineAuto}, newLogger(&log, "warn"))
		if err != nil {
			t.Fatal(err)
		}
		if found.Engine != string(vendor) || log.Len() > 0 {
			t.Errorf("%s: %+v, %s", vendor, found, log.String())
		}
	}
}
