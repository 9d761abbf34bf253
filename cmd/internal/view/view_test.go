package view

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/config"

	"github.com/umascope/umascope/exporter"
)

func TestBadInputIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"file": "", "damaged.yaml": "{{{", "unknown.yaml": "- target: [a]", "damaged.json": "{"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--runs=file"}, "--runs file: it cannot be read"},
		{[]string{"--targets=missing.yaml"}, "--targets missing.yaml: no such file"},
		{[]string{"--targets=file"}, "--targets file: its name must end in .json, .yml or .yaml"},
		{[]string{"--targets=damaged.yaml"}, "did not find expected node content"},
		{[]string{"--targets=unknown.yaml"}, "--targets unknown.yaml: yaml: "},
		{[]string{"--targets=damaged.json"}, "--targets damaged.json: "},
		{[]string{"--data=file"}, "--data file: it is a file, or below one"},
		{[]string{"--exporter=spark:10420"}, "--exporter"},
		{[]string{"--exporter=http://me:s3cret@spark:10420/metrics"}, "--exporter: want http://HOST:PORT/PATH, without a user"},
		{[]string{"--remote-write=spark"}, "--remote-write"},
		{[]string{"--retention.size=1"}, "--retention.size"},
		{[]string{"--retention.time=5m"}, "--retention.time"},
		{[]string{"--scrape-interval=0"}, "--scrape-interval"},
		{[]string{"--web.listen-address=10430"}, "--web.listen-address"},
		{[]string{"--log.level=loud"}, "--log.level"},
		{[]string{"runs"}, "unknown verb"},
		{[]string{"--frobnicate"}, "--frobnicate"},
	} {
		var stdout, stderr strings.Builder
		args := append([]string{"--web.listen-address=127.0.0.1:0"}, test.args...)
		if strings.HasPrefix(test.args[0], "--web.listen-address") {
			args = test.args
		}
		code := Run(t.Context(), args, &stdout, &stderr)
		if code != exitInput || !strings.Contains(stderr.String(), test.want) || strings.Count(stderr.String(), "\n") != 1 || stdout.Len() > 0 || strings.Contains(stderr.String(), "s3cret") {
			t.Errorf("%q: exit %d: %s%s", test.args, code, &stdout, &stderr)
		}
	}
}

// TestAPasswordOfRemoteWriteIsNotInItsURL, which Prometheus logs.
func TestAPasswordOfRemoteWriteIsNotInItsURL(t *testing.T) {
	t.Setenv("UMA_VIEW_REMOTE_WRITE", "http://me:s3cret@spark-2:9090/api/v1/write")
	o, _, _, err := parseOptions(nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	text, err := prometheusConfig(o, &url.URL{Scheme: "http", Host: exporterInside}, "spark")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := config.Load(text, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	to := parsed.RemoteWriteConfigs[0]
	if auth := to.HTTPClientConfig.BasicAuth; to.URL.String() != "http://spark-2:9090/api/v1/write" || auth == nil || auth.Username != "me" || auth.Password != "s3cret" {
		t.Errorf("%s, %+v", to.URL, to.HTTPClientConfig.BasicAuth)
	}
}

func TestDefaultFolderOfTheSamples(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, test := range []struct{ service, state, want string }{
		{"/var/lib/umascope/view", "/state", "/var/lib/umascope/view"},
		{"", "/state", "/state/umascope/view"},
		{"", "relative", filepath.Join(home, ".local/state/umascope/view")}, // which XDG says to ignore
		{"", "", filepath.Join(home, ".local/state/umascope/view")},
	} {
		t.Setenv("STATE_DIRECTORY", test.service)
		t.Setenv("XDG_STATE_HOME", test.state)
		if got := defaultData(); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestAnExporterThatHasJustStartedIsFound: its first page waits for the sockets that discovery asks.
func TestAnExporterThatHasJustStartedIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newViewer(options{}, slog.New(slog.DiscardHandler))
		defer v.close()
		err := v.serveInside(exporter.DefaultAddress, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(4 * time.Second)
			fmt.Fprintln(w, "uma_exporter_build_info 1")
		}))
		if err != nil {
			t.Fatal(err)
		}
		target, err := v.openExporter(t.Context())
		if err != nil || target.String() != "http://127.0.0.1:10420/metrics" {
			t.Errorf("%v, %v; %s", target, err, v.source)
		}
	})
}
