package openai

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseBaseDropsTheEndpoint(t *testing.T) {
	for raw, want := range map[string]string{
		"http://127.0.0.1:8000":                      "http://127.0.0.1:8000",
		"http://127.0.0.1:8000/":                     "http://127.0.0.1:8000",
		"http://127.0.0.1:8000/v1":                   "http://127.0.0.1:8000",
		"http://127.0.0.1:8000/v1/":                  "http://127.0.0.1:8000",
		"http://127.0.0.1:8000/v1/chat/completions":  "http://127.0.0.1:8000",
		"http://127.0.0.1:8000/v1/completions":       "http://127.0.0.1:8000",
		"https://api.test/openai/v1":                 "https://api.test/openai",
		"https://api.test//":                         "https://api.test",
		"http://h/team%2Fa/v1/":                      "http://h/team%2Fa",
		" http://[::1]:8000/v1 ":                     "http://[::1]:8000",
		"http://spark.local:8000/models/v1/llama/v1": "http://spark.local:8000/models/v1/llama",
	} {
		got, err := ParseBase(raw)
		if err != nil || got.String() != want {
			t.Errorf("ParseBase(%q) = %v, %v, want %s", raw, got, err, want)
		}
	}
}

func TestNewNamesTheBadOption(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := "http://h"
	for want, o := range map[string]Options{
		`URL "" does not begin`:                    {},
		`URL "127.0.0.1:8000" does not begin`:      {BaseURL: "127.0.0.1:8000"},
		`URL "ftp://h" does not begin`:             {BaseURL: "ftp://h"},
		`URL "http://" names no host`:              {BaseURL: "http://"},
		`URL "…@h" holds credentials`:              {BaseURL: "http://user:hunter2@h"},
		`URL "http://h/v1" has a query`:            {BaseURL: "http://h/v1?key=hunter2"},
		`URL "http://h\x1b[2J" cannot be read`:     {BaseURL: "http://h\x1b[2J"},
		"negative timeout":                         {BaseURL: good, ChunkTimeout: -time.Second},
		"API key holds control characters":         {BaseURL: good, APIKey: "hunter2\nX: y"},
		`header name "a b" is not valid`:           {BaseURL: good, Header: http.Header{"a b": {"c"}}},
		"value of header A holds control":          {BaseURL: good, Header: http.Header{"A": {"hunter2\r\nB: c"}}},
		"CA file: open /nowhere.pem":               {BaseURL: good, CAFile: "/nowhere.pem"},
		"empty.pem\" holds no PEM certificate":     {BaseURL: good, CAFile: empty},
		`URL "…@h" does not begin with http://`:    {BaseURL: "user:hunter2@h"},
		`URL "…@h:x" cannot be read`:               {BaseURL: "http://user:hunter2@h:x"},
		`URL "http://h/" has a query or fragment`:  {BaseURL: "http://h/#hunter2"},
		`URL "http://h/v1/" has a query or fragme`: {BaseURL: "http://h/v1/?hunter2"},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := New(o)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("error %v, want one with %s", err, want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.ContainsAny(err.Error(), "\x1b\n\r") {
				t.Errorf("error repeats a secret or a control character: %q", err)
			}
		})
	}
}

func TestCertificatesOfAFileAreTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(events(textChunk("a"), done)))
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // one handshake is meant to fail
	server.StartTLS()
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file   string
		status Status
		reason string
	}{"trusted": {file, StatusOK, ""}, "not trusted": {"", StatusConnect, "certificate"}} {
		t.Run(name, func(t *testing.T) {
			client, err := New(Options{BaseURL: server.URL, CAFile: c.file})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			r := client.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record
			wantStatus(t, r, c.status, c.reason)
			if c.status == StatusOK && (len(r.ReadIDs) != 1 || r.ReadIDs[0] < 1) {
				t.Errorf("read ids %v: reads below TLS are not stamped", r.ReadIDs)
			}
		})
	}
}

func TestManyRequestsAtOnceKeepTheirConnections(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(events(textChunk("a"), textChunk(" b"), stopChunk, done)))
	}))
	defer server.Close()
	const workers, each = 8, 20
	c, err := New(Options{BaseURL: server.URL, Connections: workers})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	records := make(chan Record)
	clock := since(time.Now())
	for range workers {
		go func() {
			for range each {
				records <- c.Do(t.Context(), Request{Endpoint: Chat}, clock, nil).Record
			}
		}()
	}
	opened := 0
	for range workers * each {
		r := <-records
		wantStatus(t, r, StatusOK, "")
		if !*r.ConnectionReused {
			opened++
		}
	}
	if opened > workers {
		t.Errorf("%d connections for %d workers", opened, workers)
	}
}

func TestNoMoreConnectionsAreOpenThanAllowed(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // so that each request needs one of its own
		arrived <- struct{}{}
		<-answer
		_, _ = w.Write([]byte(events(textChunk("a"), stopChunk, done)))
	}))
	defer server.Close()
	const most = 3
	c, err := New(Options{BaseURL: server.URL, Connections: most, MostOpen: most})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func() Record { return c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record }
	for range 2 { // the second round needs what the first gives back
		records := make(chan Record)
		for range most {
			go func() {
				// A connection is closed a moment after its answer has been read.
				r := ask()
				for ; r.Status == StatusConnect; r = ask() {
				}
				records <- r
			}()
		}
		for range most {
			<-arrived
		}
		wantStatus(t, ask(), StatusConnect, "3 connections are open")
		for range most {
			answer <- struct{}{}
		}
		for range most {
			wantStatus(t, <-records, StatusOK, "")
		}
	}
}

func TestAConnectionThatFailsIsNotCountedAsOpen(t *testing.T) {
	c, err := New(Options{BaseURL: "http://engine.test", MostOpen: 1, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no route")
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		wantStatus(t, c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record, StatusConnect, "no route")
	}
}
