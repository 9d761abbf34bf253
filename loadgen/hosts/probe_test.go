package hosts

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const livePage = `# HELP uma_exporter_build_info Version of this exporter.
uma_exporter_build_info{version="1"} 1
uma_exporter_mode{mode="live"} 0
uma_exporter_mode{mode="simulated"} 1
`

// probeOf asks a server that answers so.
func probeOf(t *testing.T, server *httptest.Server) *Exporter {
	t.Helper()
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	hosts := []Host{{Name: "spark-1", Addresses: []Address{{Addr: at.Addr()}}}}
	Probe(context.Background(), hosts, int(at.Port()))
	return hosts[0].Exporter
}

func TestAnExporterIsRecognisedAmongOtherServers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, livePage) }))
	defer elsewhere.Close()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		found  bool
		says   string // mode, or part of the reason
	}{
		"an exporter":         {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, livePage) }, true, "simulated"},
		"another exporter":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "node_load1 1\n") }, false, "not an exporter of ours"},
		"one with a password": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, false, "wants a password"},
		"a redirect":          {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, false, "status 302"},
		"a page without end": {func(w http.ResponseWriter, _ *http.Request) {
			for range 3 * largestPage / 1024 {
				if _, err := io.WriteString(w, strings.Repeat("x", 1023)+"\n"); err != nil {
					return
				}
			}
		}, false, "not an exporter of ours"},
		"a mode for the terminal": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "uma_exporter_build_info{} 1\numa_exporter_mode{mode=\"\x1b[2Jlive\"} 1\n")
		}, true, ""},
	} {
		server := httptest.NewServer(test.answer)
		got := probeOf(t, server)
		server.Close()
		if got.Found != test.found || got.Found && got.Mode != test.says || !got.Found && !strings.Contains(got.Why, test.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAnExporterWithTLSIsRecognised(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	if got := probeOf(t, server); got.Found || !strings.Contains(got.Why, "scheme: https") {
		t.Errorf("%+v", got)
	}
}

func TestARefusalHasALikelyReason(t *testing.T) {
	at := netip.MustParseAddrPort("127.0.0.1:1")
	hosts := []Host{{Addresses: []Address{{Addr: at.Addr()}}}, {Addresses: []Address{{Addr: netip.MustParseAddr("fe80::1%lo")}}}}
	Probe(t.Context(), hosts, int(at.Port()))
	if e := hosts[0].Exporter; e.Found || !strings.Contains(e.Why, "--web.listen-address") {
		t.Errorf("%+v", e)
	}
	if e := hosts[1].Exporter; e.Found || !strings.Contains(e.Why, "no address") {
		t.Errorf("%+v", e)
	}
}

// silence answers no request.
type silence struct{}

func (silence) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A network may name hundreds of hosts on addresses that swallow what they are asked.
func TestSilentHostsCostNoMoreTimeThanThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		address := Address{Addr: netip.MustParseAddr("127.0.0.9")}
		const perRound = 3 * probeTime // each host has three addresses, and the last round is cut short
		hosts := make([]Host, mostProbes*int(probesTime/perRound+3))
		for i := range hosts {
			hosts[i] = Host{Addresses: []Address{address, address, address}}
		}
		began := time.Now()
		probeThrough(t.Context(), silence{}, hosts, 10420)
		if took := time.Since(began); took != probesTime {
			t.Errorf("they cost %s, want %s", took, probesTime)
		}
		unasked := 0
		for _, h := range hosts {
			if h.Exporter == nil || h.Exporter.Found || h.Exporter.Why == "" {
				t.Fatalf("%+v", h.Exporter)
			}
			if strings.Contains(h.Exporter.Why, "not asked") {
				unasked++
			}
		}
		if unasked != 2*mostProbes {
			t.Errorf("%d are said not to be asked, want %d", unasked, 2*mostProbes)
		}
	})
}

func FuzzAModeIsAPlainWord(f *testing.F) {
	f.Add(livePage)
	f.Add("uma_exporter_mode{mode=\"\x1b[2J\"} 1")
	f.Fuzz(func(t *testing.T, page string) {
		is, mode := recognise(strings.NewReader(page))
		if is && !strings.Contains(page, "uma_exporter_build_info{") {
			t.Error("a page without the series is an exporter's")
		}
		if mode != "" && !plainName.MatchString(mode) {
			t.Errorf("%+q is a mode", mode)
		}
	})
}
