package runner

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/telemetry"
)

func TestTheServersPageIsFollowedOnceAndUnderANameOfItsOwn(t *testing.T) {
	exporter := telemetry.Source{Name: "server", URL: "http://127.0.0.1:10420"}
	scraped := telemetry.Source{Name: "engine", URL: "http://127.0.0.1:8000", Foreign: true}
	page := telemetry.Source{Name: serverName(0), URL: "http://127.0.0.1:8000/metrics"}
	for name, c := range map[string]struct {
		sources []telemetry.Source
		want    string // name of the source that is added; empty is none
	}{
		"alone":                         {nil, "server"},
		"a host is called so":           {[]telemetry.Source{exporter}, "server_page"},
		"--scrape names it":             {[]telemetry.Source{scraped}, ""},
		"--scrape names another's page": {[]telemetry.Source{{Name: "kvbm", URL: "http://127.0.0.1:6880/metrics", Foreign: true}}, "server"},
	} {
		s := Capture{Sources: c.sources}
		s.followServer(page)
		added := s.Sources[len(c.sources):]
		switch {
		case c.want == "" && len(added) > 0:
			t.Errorf("%s: %+v is added", name, added)
		case c.want != "" && (len(added) != 1 || added[0].Name != c.want || !added[0].Foreign || !added[0].Borders):
			t.Errorf("%s: %+v, want %s", name, added, c.want)
		}
	}
}

func TestThePagesOfSeveralServersHaveNamesOfTheirOwn(t *testing.T) {
	s := Capture{}
	for i, url := range []string{"http://127.0.0.1:8000/metrics", "http://127.0.0.1:8001/metrics", "http://127.0.0.1:8002/metrics"} {
		s.followServer(telemetry.Source{Name: serverName(i), URL: url})
	}
	var names []string
	for _, source := range s.Sources {
		names = append(names, source.Name)
	}
	if !slices.Equal(names, []string{"server", "server_2", "server_3"}) {
		t.Errorf("%q", names)
	}
}

// TestOneExporterIsNotTakenForSeveralMachines: without --telemetry, the default exporter is that of one machine.
func TestOneExporterIsNotTakenForSeveralMachines(t *testing.T) {
	exporter := anExporter(t)
	for second, want := range map[string]int{"http://127.0.0.1:8001": 1, "http://192.0.2.7:8000": 0} {
		var log bytes.Buffer
		s := CaptureSettings{Server: "http://127.0.0.1:8000", Replicas: []string{second}}
		sources, err := s.exporters(t.Context(), exporter, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil || len(sources) != want || strings.Contains(log.String(), "the servers are on several machines") != (want == 0) {
			t.Errorf("%s: %v, %v: %s", second, sources, err, log.String())
		}
	}
}
