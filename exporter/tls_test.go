package exporter_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheFolderOfSecureServesAndReads holds the one step that documents name: what the command prints is
// what the flags take.
func TestTheFolderOfSecureServesAndReads(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "tls")
	code, stdout, stderr := run(t, "secure", "--name=spark-1", folder)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "for:     spark-1 and loopback\n") {
		t.Errorf("it does not say by which names it can be read: %s", stdout)
	}
	if _, stdout, _ := run(t, "secure", filepath.Join(dir, "unnamed")); !strings.Contains(stdout, "loopback only") {
		t.Errorf("it does not say that no other machine can read it: %s", stdout)
	}
	flag := func(prefix string) string {
		_, rest, found := strings.Cut(stdout, prefix)
		if !found {
			t.Fatalf("%s is not in %q", prefix, stdout)
		}
		path, _, _ := strings.Cut(rest, "\n")
		return prefix + path
	}
	read := flag("--http.config.file=")
	c := command(t, flag("--web.config.file="), "--web.listen-address=127.0.0.1:0")
	page := strings.Replace(started(t, c, 1)[0], "http(s)", "https", 1)
	health := strings.TrimSuffix(page, "/metrics") + "/-/healthy"
	wrong := writeFile(t, dir, "wrong.yml", "basic_auth: {username: umascope, password: wrong}\ntls_config: {ca_file: "+filepath.Join(folder, "certificate.pem")+"}\n")
	for name, test := range map[string]struct {
		args []string
		code int
	}{
		"with the folder":     {[]string{"--url=" + health, read}, 0},
		"with a wrong one":    {[]string{"--url=" + health, "--http.config.file=" + wrong}, 1},
		"with nothing":        {[]string{"--url=" + health}, 1},
		"without TLS":         {[]string{"--url=" + strings.Replace(health, "https", "http", 1)}, 1},
		"by a name not in it": {[]string{"--url=" + strings.Replace(health, "127.0.0.1", "127.0.0.2", 1), read}, 1},
	} {
		if code, _, stderr := run(t, append([]string{"healthcheck"}, test.args...)...); code != test.code {
			t.Errorf("%s: exit %d, want %d: %s", name, code, test.code, stderr)
		}
	}
	if err := errors.Join(c.Process.Signal(os.Interrupt), c.Wait()); err != nil {
		t.Error(err)
	}
	password, err := os.ReadFile(filepath.Join(folder, "password"))
	if err != nil || strings.Contains(stdout, strings.TrimSpace(string(password))) {
		t.Errorf("the password is printed: %v", err)
	}
	for what, args := range map[string][]string{
		"tls":   {"secure", folder},
		"*.lan": {"secure", "--name=*.lan", filepath.Join(dir, "other")},
		"no/in": {"secure", filepath.Join(dir, "no/in")},
	} {
		if code, _, stderr := run(t, args...); code != 2 || !strings.Contains(stderr, what) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}
