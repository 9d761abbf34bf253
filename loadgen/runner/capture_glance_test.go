package runner

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// slowPage answers after some time, or never: then it ends with the request.
type slowPage struct {
	after time.Duration
	page  string
}

func (s slowPage) RoundTrip(r *http.Request) (*http.Response, error) {
	timer := time.NewTimer(s.after)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-timer.C:
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/plain; version=0.0.4"}}, Body: io.NopCloser(strings.NewReader(s.page)), Request: r}, nil
	}
}

// TestAGlanceWaitsForAPageOfABusyMachine: it is one look, which nobody takes again.
func TestAGlanceWaitsForAPageOfABusyMachine(t *testing.T) {
	pool := metric.MemoryPoolBytes.Def().Name
	page := "# TYPE " + pool + " gauge\n" + pool + " 128e9\n"
	source := func(name string, after time.Duration) telemetry.Source {
		return telemetry.Source{Name: name, URL: "http://" + name + "/metrics", Client: &http.Client{Transport: slowPage{after, page}}}
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		log, err := (&Capture{Sources: []telemetry.Source{source("slow", 1500*time.Millisecond), source("hanging", time.Hour)}}).Glance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{1, 0} {
			if got := len(log.Sources[i].Find(&metric.MemoryPoolBytes)); got != want {
				t.Errorf("%s: %d series of the pool, want %d", log.Sources[i].Name, got, want)
			}
		}
		if waited := time.Since(began); waited > 3*glancePatience {
			t.Errorf("a page that hangs costs %v", waited)
		}
	})
}
