package view

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadInputIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--runs=file"}, "--runs file: it cannot be read"},
		{[]string{"--targets=missing.yaml"}, "--targets: stat missing.yaml"},
		{[]string{"--data=file"}, "--data file: it is a file, or below one"},
		{[]string{"--exporter=spark:10420"}, "--exporter"},
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
		if code != exitInput || !strings.Contains(stderr.String(), test.want) || strings.Count(stderr.String(), "\n") != 1 || stdout.Len() > 0 {
			t.Errorf("%q: exit %d: %s%s", test.args, code, &stdout, &stderr)
		}
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
