package telemetry

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const accessSecret = "s3cret-0123456789"

// guarded is an exporter that wants a password over TLS, and the file with which it is read.
func guarded(t *testing.T) (url, file string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != accessSecret {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "uma_exporter_build_info{version=\"v1\"} 1\numa_memory_pool_bytes 100\n")
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	keep(t, dir, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	keep(t, dir, "password", accessSecret+"\n")
	return server.URL, keep(t, dir, "client.yml", "basic_auth: {username: u, password_file: password}\ntls_config: {ca_file: ca.pem}\n")
}

func keep(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnExporterThatAsksForAPasswordIsReadWithIt(t *testing.T) {
	url, file := guarded(t)
	if err := Probe(t.Context(), Source{Name: "spark", URL: url}); err == nil {
		t.Error("it is read with nothing")
	}
	admitted, err := Admitted([]Source{{Name: "spark", URL: url}}, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Probe(t.Context(), admitted[0]); err != nil {
		t.Error(err)
	}
	wrong := keep(t, filepath.Dir(file), "wrong.yml", "basic_auth: {username: u, password: wrong}\ntls_config: {ca_file: ca.pem}\n")
	if admitted, err = Admitted([]Source{{Name: "spark", URL: url}}, wrong, nil); err != nil {
		t.Fatal(err)
	}
	if err := Probe(t.Context(), admitted[0]); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("with a wrong one: %v", err)
	}
}

// TestPagesAreReadOverTheGivenNetwork: with and without credentials. The certificates of httptest name example.com.
func TestPagesAreReadOverTheGivenNetwork(t *testing.T) {
	secured, file := guarded(t)
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "uma_exporter_build_info 1") }))
	defer open.Close()
	for page, c := range map[string]struct{ file, server string }{
		"https://example.com:10420/metrics": {file, secured}, "http://example.com:10420/metrics": {"", open.URL},
	} {
		_, server, _ := strings.Cut(c.server, "://")
		dialled := ""
		admitted, err := Admitted([]Source{{Name: "spark", URL: page}}, c.file, func(ctx context.Context, network, address string) (net.Conn, error) {
			dialled = address
			return new(net.Dialer).DialContext(ctx, network, server)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := Probe(t.Context(), admitted[0]); err != nil || dialled != "example.com:10420" {
			t.Errorf("%s: %v, dialled %q", page, err, dialled)
		}
	}
}

// TestAPasswordGoesToNobodyElse: not to an exporter without TLS, not to where an answer sends, and not to
// pages of engines, which are other sources.
func TestAPasswordGoesToNobodyElse(t *testing.T) {
	_, file := guarded(t)
	reported := make(chan string, 10)
	listening := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reported <- r.Header.Get("Authorization") })
	open := httptest.NewServer(listening)
	defer open.Close()
	if _, err := Admitted([]Source{{Name: "spark", URL: open.URL}}, file, nil); err == nil || !strings.Contains(err.Error(), "spark is not read by https") {
		t.Errorf("without TLS: %v", err)
	}
	sending := httptest.NewTLSServer(http.RedirectHandler(open.URL, http.StatusFound))
	defer sending.Close()
	dir := filepath.Dir(file)
	keep(t, dir, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sending.Certificate().Raw})))
	admitted, err := Admitted([]Source{{Name: "spark", URL: sending.URL}}, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Probe(t.Context(), admitted[0]); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("sent elsewhere: %v", err)
	}
	s, path := filepath.Join(dir, "telemetry.jsonl.gz"), open.URL
	sampler, err := Start(t.Context(), Options{
		Sources: []Source{admitted[0], {Name: "engine", URL: path, Foreign: true}}, Interval: MinInterval, File: s, Clock: func() int64 { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	sampler.Mark("ready")
	if _, err := sampler.Stop(); err != nil {
		t.Fatal(err)
	}
	for range len(reported) {
		if header := <-reported; header != "" {
			t.Errorf("told %q", header)
		}
	}
}

// Gates of a campaign look at a machine again and again: every look must close what it opened.
func TestNoConnectionStaysAfterSampling(t *testing.T) {
	var open atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "uma_exporter_build_info{version=\"v1\"} 1\numa_memory_pool_bytes 100\n")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	keep(t, dir, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	admitted, err := Admitted([]Source{{Name: "spark", URL: server.URL}}, keep(t, dir, "client.yml", "tls_config: {ca_file: ca.pem}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	sampler, err := Start(t.Context(), Options{Sources: admitted, Interval: MinInterval, File: filepath.Join(dir, "telemetry.jsonl.gz"), Clock: func() int64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	sampler.Mark("ready")
	if stats, err := sampler.Stop(); err != nil || len(stats.Sources[0].MissingBorders) > 0 {
		t.Fatal(stats, err) // nothing was asked, and so nothing can have been left open
	}
	for deadline := time.Now().Add(5 * time.Second); open.Load() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are open", open.Load())
		}
	}
}

func TestAFileOfAccessThatCannotBeUsedIsSaidWithoutItsSecret(t *testing.T) {
	dir := t.TempDir()
	source := []Source{{Name: "spark", URL: "https://127.0.0.1:1"}}
	for name, file := range map[string]string{
		"not there":    filepath.Join(dir, "nosuch.yml"),
		"unknown key":  keep(t, dir, "a.yml", "basic_auht: {password: "+accessSecret+"}\n"),
		"not its form": keep(t, dir, "b.yml", "basic_auth: "+accessSecret+"\n"),
		"no authority": keep(t, dir, "c.yml", "tls_config: {ca_file: nosuch.pem}\nbasic_auth: {username: u, password: "+accessSecret+"}\n"),
	} {
		if _, err := Admitted(source, file, nil); err == nil || strings.Contains(err.Error(), accessSecret) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Admitted(nil, keep(t, dir, "d.yml", "{}\n"), nil); err == nil {
		t.Error("nobody is named whom it is for")
	}
}
