package runner

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// anExporter is the page of one.
func anExporter(t *testing.T) string {
	t.Helper()
	page := metric.ExporterMode.Def().Name + "{" + string(metric.LabelMode) + "=\"live\"} 1\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) }))
	t.Cleanup(s.Close)
	return s.URL + "/metrics"
}

// The exporter of this machine says nothing of a server on another: its memory was once taken for that server's, live and without
// a warning.
func TestTheExporterOfThisMachineIsThatOfAServerHereOnly(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	exporter := anExporter(t)
	for name, c := range map[string]struct{ server, follows, says string }{
		"a command":              {"", host, ""},
		"a server here":          {"http://127.0.0.1:8000", host, ""},
		"a server on another":    {"http://spark-9.invalid:8000/v1", "", "--telemetry"},
		"without its own scheme": {"spark-9.invalid:8000", "", "http://spark-9.invalid:10420"},
	} {
		var log bytes.Buffer
		looked, err := newCapture(t.Context(), CaptureSettings{Server: c.server}, exporter, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, source := range looked.Sources {
			got += source.Name
		}
		if got != c.follows || !strings.Contains(log.String(), c.says) || c.says != "" && !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("%s: follows %q, want %q; %s", name, got, c.follows, log.String())
		}
	}
}

// A run is filed under the machine that it measures, whichever that is.
func TestTheMachineOfARunIsWhereItsServerIs(t *testing.T) {
	for server, want := range map[string]string{
		"": "", "http://127.0.0.1:8000": "", "http://spark-9.invalid:8000": "spark-9.invalid", "http://[2001:db8::9]:8000": "2001-db8--9",
	} {
		if got := (CaptureSettings{Server: server}).Elsewhere("here"); got != want {
			t.Errorf("%q: %q, want %q", server, got, want)
		}
	}
}

// Elsewhere the exporter beside the server is followed, under the name of its machine; behind a forwarded port none is.
func TestTheExporterBesideTheServerIsFollowed(t *testing.T) {
	there, err := url.Parse(anExporter(t))
	if err != nil {
		t.Fatal(err)
	}
	here := anExporter(t)
	for name, c := range map[string]struct {
		at    server.Location
		names string
		url   string
		says  string
	}{
		"it answers":          {server.Location{Host: "127.0.0.1"}, "127.0.0.1", "http://127.0.0.1:" + there.Port(), "level=INFO"},
		"a port is forwarded": {server.Location{Host: "127.0.0.1", Forwarder: "ssh"}, "", "", "by=ssh"},
	} {
		var log bytes.Buffer
		sources, err := defaultExporter(t.Context(), c.at, here, there.Port(), telemetry.NewClient(nil), slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil || !strings.Contains(log.String(), c.says) || (len(sources) == 1) != (c.names != "") {
			t.Fatalf("%s: %v, %v: %s", name, sources, err, log.String())
		}
		if len(sources) == 1 && (sources[0].Name != c.names || sources[0].URL != c.url) {
			t.Errorf("%s: %+v", name, sources[0])
		}
	}
}
