package collector

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
)

// locked serves a page of llama.cpp to those who send this Authorization header, and repeats the header in its labels.
func locked(t *testing.T, authorization string, start func(http.Handler) *httptest.Server) *httptest.Server {
	t.Helper()
	server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != authorization {
			http.Error(w, "Invalid API Key", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "llamacpp:requests_processing{echo=%q} 1\n", r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	return server
}

// group is a targets file with one engine and further keys.
func group(server *httptest.Server, keys string) string {
	scheme, address, _ := strings.Cut(server.URL, "://")
	return fmt.Sprintf("- targets: [%q]\n  labels: {__umascope_collector__: engine, __scheme__: %s}\n%s", address, scheme, keys)
}

// pageOf reads the page of the only engine in a targets file of the folder.
func pageOf(t *testing.T, folder, text string) (spec.Page, error) {
	t.Helper()
	targets, err := parseTargets([]byte(text), folder)
	if err != nil {
		t.Fatal(err)
	}
	transport := engine.Transport(nil)
	defer transport.CloseIdleConnections()
	return engine.Client{HTTP: transport}.Page(t.Context(), targets.Engines[0])
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAPageBehindAKeyOrAPasswordIsReadAsPrometheusReadsIt(t *testing.T) {
	const key, user, password = "key-4711-secret", "bob", "00815-hunter2"
	folder := t.TempDir()
	write(t, filepath.Join(folder, "key"), key+"\n")
	write(t, filepath.Join(folder, "password"), password+"\n")
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	for keys, header := range map[string]string{
		"  authorization: {credentials: " + key + "}\n":                               "Bearer " + key,
		"  authorization:\n    type: Token\n    credentials_file: key\n":              "Token " + key,
		"  bearer_token_file: key\n":                                                  "Bearer " + key,
		"  basic_auth: {username: bob, password: " + password + "}\n":                 basic,
		"  basic_auth: {username: bob, password_file: " + folder + "/password}\n":     basic,
		"  authorization: {credentials: 0815471}\n":                                   "Bearer 0815471", // not a number
		"  authorization: {\"type\": \"Bearer\", \"credentials\": \"" + key + "\"}\n": "Bearer " + key,
	} {
		server := locked(t, header, httptest.NewServer)
		page, err := pageOf(t, folder, group(server, keys))
		if err != nil {
			t.Errorf("%s: %v", keys, err)
			continue
		}
		for _, one := range page.Series("llamacpp:requests_processing") {
			for _, secret := range []string{key, password, "0815471", base64.StdEncoding.EncodeToString([]byte(user + ":" + password))} {
				if strings.Contains(one.Labels["echo"], secret) {
					t.Errorf("%s: a label has the secret: %q", keys, one.Labels["echo"])
				}
			}
		}
	}
}

func TestARefusedPageNamesWhatToGive(t *testing.T) {
	server := locked(t, "Bearer right-key", httptest.NewServer)
	secured := locked(t, "", httptest.NewTLSServer)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secured.Certificate().Raw})))
	for _, test := range []struct{ what, text, why string }{
		{"no key", group(server, ""), "wants a key or a password: give authorization or basic_auth in the file of --engine.config.file"},
		{"wrong key", group(server, "  authorization: {credentials: wrong-key-4711}\n"), "refuses the credentials"},
		{"no file", group(server, "  authorization: {credentials_file: missing.key}\n"), "missing.key"},
		{"own authority", group(secured, ""), "tls_config with ca_file"},
		{"no such authority", group(secured, "  tls_config: {ca_file: missing.pem}\n"), "missing.pem"},
		{"another name", group(secured, "  tls_config: {ca_file: ca.pem, server_name: spark}\n"), "server_name"},
		{"no TLS there", strings.Replace(group(server, ""), "__scheme__: http}", "__scheme__: https}", 1), "http://"},
		{"TLS there", strings.Replace(group(secured, ""), "__scheme__: https}", "__scheme__: http}", 1), "https://"},
	} {
		if _, err := pageOf(t, folder, test.text); err == nil || !strings.Contains(err.Error(), test.why) || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v, want %q", test.what, err, test.why)
		}
	}
	if _, err := pageOf(t, folder, group(secured, "  tls_config: {ca_file: ca.pem}\n")); err != nil {
		t.Errorf("with its authority: %v", err)
	}
	if _, err := pageOf(t, folder, group(secured, "  tls_config: {insecure_skip_verify: true}\n")); err != nil {
		t.Errorf("not verified: %v", err)
	}
}

func TestAnExchangedKeyNeedsNoRestart(t *testing.T) {
	folder := t.TempDir()
	key := filepath.Join(folder, "key")
	write(t, key, "old-key\n")
	server := locked(t, "Bearer new-key", httptest.NewServer)
	targets, err := parseTargets([]byte(group(server, "  authorization: {credentials_file: key}\n")), folder)
	if err != nil {
		t.Fatal(err)
	}
	transport := engine.Transport(nil)
	defer transport.CloseIdleConnections()
	client := engine.Client{HTTP: transport}
	if _, err := client.Page(t.Context(), targets.Engines[0]); err == nil {
		t.Error("the old key opens the page")
	}
	write(t, key, "new-key\n")
	if _, err := client.Page(t.Context(), targets.Engines[0]); err != nil {
		t.Errorf("the new key: %v", err)
	}
}

func TestAccessThatIsNoneIsRefusedWithoutRepeatingIt(t *testing.T) {
	const secret = "hunter2-4711"
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for what, c := range map[string]struct{ keys, why string }{
		"a text":              {"  authorization: " + secret + "\n", "authorization"},
		"an unknown key":      {"  authorization: {" + secret + ": x}\n", "choose from type, credentials, credentials_file"},
		"a list":              {"  basic_auth: [" + secret + "]\n", "username"},
		"a nested value":      {"  authorization: {credentials: {a: " + secret + "}}\n", "credentials must be a text"},
		"both":                {"  authorization: {credentials: " + secret + "}\n  basic_auth: {username: a, password: b}\n", "at most one"},
		"two forms":           {"  authorization: {credentials: " + secret + ", credentials_file: k}\n", "at most one"},
		"basic as type":       {"  authorization: {type: Basic, credentials: " + secret + "}\n", "basic_auth"},
		"no credentials":      {"  authorization: {type: Bearer}\n", "credentials_file is missing"},
		"no password":         {"  basic_auth: {username: " + secret + "}\n", "password"},
		"a number as boolean": {"  tls_config: {insecure_skip_verify: " + secret + "}\n", "scrape job"},
		"a version":           {"  tls_config: {min_version: SSL2}\n", "tls_config"},
		"a certificate alone": {"  tls_config: {cert_file: c.pem}\n", "cert"},
		"another key":         {"  oauth2: {client_secret: " + secret + "}\n", "not a list of targets"},
	} {
		_, err := parseTargets([]byte(group(server, c.keys)), "/etc")
		if err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	logs := "- targets: [/var/log/x]\n  labels: {__umascope_collector__: kvbm_log}\n  authorization: {credentials: " + secret + "}\n"
	if _, err := parseTargets([]byte(logs), ""); err == nil || !strings.Contains(err.Error(), "logs are files") {
		t.Errorf("a log: %v", err)
	}
}

// FuzzAccess reads any keys: whatever they are, neither an error nor what is printed has a value of them.
func FuzzAccess(f *testing.F) {
	f.Add("authorization", "credentials", "hunter2-4711")
	f.Add("basic_auth", "password", "hunter2-4711")
	f.Add("tls_config", "min_version", "hunter2-4711")
	f.Add("bearer_token", "", "hunter2-4711")
	f.Fuzz(func(t *testing.T, key, below, value string) {
		if len(value) < 8 || slices.ContainsFunc([]string{key, below}, func(name string) bool { return strings.Contains(name, value) || strings.Contains(value, name) }) {
			return
		}
		text := fmt.Sprintf("- targets: [a:1]\n  labels: {__umascope_collector__: engine}\n  %q: {%q: %q}\n", key, below, value)
		_, err := parseTargets([]byte(text), "")
		if err != nil && strings.Contains(err.Error(), value) && !strings.Contains("authorization, basic_auth and tls_config must have the form of a scrape job of Prometheus, a list of targets", value) {
			t.Errorf("%q gives %v", text, err)
		}
	})
}

func TestAnEngineBehindAKeyIsACollectorFailureThatNamesTheFix(t *testing.T) {
	server := locked(t, "Bearer right-key", httptest.NewServer)
	folder := t.TempDir()
	path := filepath.Join(folder, "targets.yml")
	write(t, path, group(server, ""))
	spec := engineSpec()
	transport := engine.Transport(nil)
	defer transport.CloseIdleConnections()
	collect := spec.Open(Host{HTTP: transport, Now: time.Now}, Options{Sources: SourceOptions{Known: supported.Engines(), TargetsFile: path, NoDiscovery: true}})
	batch := newBatch(newFamilies(spec.Metrics))
	if err := collect(t.Context(), &Sample{}, batch); err == nil || !strings.Contains(err.Error(), "--engine.config.file") {
		t.Errorf("without a key: %v", err)
	}
	write(t, path, group(server, "  authorization: {credentials: right-key}\n"))
	batch = newBatch(newFamilies(spec.Metrics))
	if err := collect(t.Context(), &Sample{}, batch); err != nil {
		t.Errorf("with the key: %v", err)
	}
	if notes := strings.Join(batch.notes, "; "); strings.Contains(notes, "right-key") || !strings.Contains(notes, "labels that are not llamacpp's own: echo") {
		t.Errorf("notes %q", notes)
	}
}
