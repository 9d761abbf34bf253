package runner

import (
	"testing"

	"github.com/umascope/umascope/loadgen/telemetry"
)

func TestTheServersPageIsFollowedOnceAndUnderANameOfItsOwn(t *testing.T) {
	exporter := telemetry.Source{Name: "server", URL: "http://127.0.0.1:10420"}
	scraped := telemetry.Source{Name: "engine", URL: "http://127.0.0.1:8000", Foreign: true}
	page := telemetry.Source{URL: "http://127.0.0.1:8000/metrics"}
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
