package runner

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/cmd/webserver"
)

func TestHealthcheckFindsALivePage(t *testing.T) {
	page, err := OpenLivePage(ListenAddress{HostPort: "127.0.0.1:0", Explicit: true}, Network{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	here := Health{Address: ListenAddress{HostPort: page.listener.Addr().String()}}
	if err := Healthcheck(t.Context(), here); err != nil {
		t.Error(err)
	}
	if err := Healthcheck(t.Context(), Health{URL: strings.Replace(page.URL(), "/metrics", webserver.HealthPath, 1)}); err != nil {
		t.Errorf("by its URL: %v", err)
	}
	page.Close()
	var bad InputError
	if err := Healthcheck(t.Context(), here); err == nil || errors.As(err, &bad) {
		t.Errorf("after it was gone: %v", err)
	}
	if err := Healthcheck(t.Context(), Health{Address: ListenAddress{HostPort: "a b:1"}}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "--web.listen-address") {
		t.Errorf("no address: %v", err)
	}
}

func TestHealthOfAnotherServerIsNoAnswer(t *testing.T) {
	well := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer well.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler(well.URL, http.StatusFound))
	defer elsewhere.Close()
	if err := Healthcheck(t.Context(), Health{URL: elsewhere.URL}); err == nil || !strings.Contains(err.Error(), "302") {
		t.Error(err)
	}
	config := written(t, "follow_redirects: true\n")
	if err := Healthcheck(t.Context(), Health{URL: elsewhere.URL, ConfigFile: config}); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("with a file that says otherwise: %v", err)
	}
}

func TestWhatCannotBeAskedIsSaidWithoutItsSecret(t *testing.T) {
	for name, h := range map[string]Health{
		"no scheme":          {URL: "me:s3cret@host"},
		"a scheme of others": {URL: "ftp://me:s3cret@host"},
		"no port":            {URL: "http://me:s3cret@host:port"},
		"no host":            {URL: "http:///?key=s3cret"},
		"a file not there":   {URL: "http://127.0.0.1:1", ConfigFile: "no/such/file"},
		"a file of no form":  {URL: "http://127.0.0.1:1", ConfigFile: written(t, "passwort: x\n")},
		"no authority":       {URL: "http://127.0.0.1:1", ConfigFile: written(t, "tls_config: {ca_file: nosuch.pem}\n")},
	} {
		err := Healthcheck(t.Context(), h)
		if _, is := errors.AsType[InputError](err); !is || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Healthcheck(t.Context(), Health{URL: "http://me:s3cret@127.0.0.1:1/?key=s3cret"}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestAPageWithoutTheTLSThatWasAskedForIsNotServed(t *testing.T) {
	for name, file := range map[string]string{
		"not there":     filepath.Join(t.TempDir(), "nosuch.yml"),
		"unknown key":   written(t, "tls_server_confg: {}\n"),
		"a key missing": written(t, "tls_server_config: {cert_file: nosuch.pem, key_file: nosuch.pem}\n"),
		"no hash":       written(t, "basic_auth_users: {umascope: plain}\n"),
		"no YAML":       written(t, "\x00"),
	} {
		page, err := OpenLivePage(ListenAddress{HostPort: "127.0.0.1:0", Explicit: true, ConfigFile: file}, Network{}, slog.New(slog.DiscardHandler))
		if _, is := errors.AsType[InputError](err); !is || !strings.Contains(err.Error(), "--web.config.file "+file) {
			t.Errorf("%s: %v", name, err)
		}
		page.Close()
	}
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
