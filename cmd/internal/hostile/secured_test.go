package hostile

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/loadgen"
)

// serving runs a program until the test ends, and returns what it says that matches.
func serving(t *testing.T, program func(ctx context.Context, out io.Writer) int, want string) (found string, end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var output buffer
	ended := make(chan int, 1)
	go func() { ended <- program(ctx, &output) }()
	end = func() {
		stop()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("it does not end")
		}
	}
	t.Cleanup(stop)
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if match := regexp.MustCompile(want).FindStringSubmatch(output.String()); match != nil {
			return match[1], end
		}
	}
	t.Fatalf("%s is never said: %s", want, output.String())
	return "", nil
}

// TestOneFolderProtectsEveryPage is compose/TLS.md in one test: the folder that secure makes serves the pages of
// both programs and reads them; a wrong password, none, and no TLS read nothing; and the password gets nowhere.
func TestOneFolderProtectsEveryPage(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "tls")
	if code := exporter.Run(t.Context(), []string{"secure", "--name=spark-1", folder}, io.Discard, os.Stderr); code != 0 {
		t.Fatalf("secure: exit %d", code)
	}
	content, err := os.ReadFile(filepath.Join(folder, "password"))
	if err != nil {
		t.Fatal(err)
	}
	password := strings.TrimSpace(string(content))
	web, read := "--web.config.file="+filepath.Join(folder, "web.yml"), filepath.Join(folder, "client.yml")
	wrong := file(t, dir, "wrong.yml", "basic_auth: {username: umascope, password: wrong}\ntls_config: {ca_file: tls/certificate.pem}\n", 0o600)

	telemetry, endExporter := serving(t, func(ctx context.Context, out io.Writer) int {
		return exporter.Run(ctx, []string{web, "--web.listen-address=127.0.0.1:0", "--no-collector.gpu"}, out, out)
	}, `serving http\(s\)://(\S+)/metrics`)
	defer endExporter()
	run := func(id, config string, more ...string) []string {
		return append([]string{
			"run", "--url=" + engine(t, false), "--telemetry=spark=https://" + telemetry, "--telemetry-config=" + config, "--telemetry-interval=100ms",
			"--requests=4", "--warmup=0", "--input-tokens=300", "--output-tokens=4", "--out=" + filepath.Join(dir, "runs"), "--run-id=" + id, web, "--web.listen-address=127.0.0.1:0",
		}, more...)
	}
	var refused buffer
	if code := loadgen.Run(t.Context(), run("wrong", wrong), io.Discard, &refused); code != 2 || !strings.Contains(refused.String(), "spark: https://"+telemetry+"/metrics: answered 401") {
		t.Errorf("with a wrong password: exit %d: %s", code, refused.String())
	}
	live, endRun := serving(t, func(ctx context.Context, out io.Writer) int {
		return loadgen.Run(ctx, run("r1", read, "--web.linger=1m"), out, out)
	}, `(?s)live=https://(\S+)/metrics.*live metrics stay`)
	results, endResults := serving(t, func(ctx context.Context, out io.Writer) int {
		return loadgen.Run(ctx, []string{"serve", "--runs=" + filepath.Join(dir, "runs"), web, "--web.listen-address=127.0.0.1:0"}, out, out)
	}, `url=https://(\S+)/metrics`)

	for page, health := range map[string]func([]string, io.Writer, io.Writer) int{
		telemetry: func(args []string, out, errs io.Writer) int { return exporter.Run(t.Context(), args, out, errs) },
		live:      func(args []string, out, errs io.Writer) int { return loadgen.Run(t.Context(), args, out, errs) },
		results:   func(args []string, out, errs io.Writer) int { return loadgen.Run(t.Context(), args, out, errs) },
	} {
		for name, test := range map[string]struct {
			scheme, config string
			code           int
		}{
			"the folder": {"https", read, 0}, "a wrong password": {"https", wrong, 1}, "nothing": {"https", "", 1}, "no TLS": {"http", "", 1}, "a password without TLS": {"http", read, 1},
		} {
			args := []string{"healthcheck", "--url=" + test.scheme + "://" + page + "/-/healthy"}
			if test.config != "" {
				args = append(args, "--http.config.file="+test.config)
			}
			var output buffer
			if code := health(args, &output, &output); code != test.code || strings.Contains(output.String(), password) {
				t.Errorf("%s with %s: exit %d, want %d: %s", page, name, code, test.code, output.String())
			}
		}
		response, err := http.Get("http://" + page + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusBadRequest || strings.Contains(string(text), "uma_") {
			t.Errorf("%s without TLS: %d %s", page, response.StatusCode, text)
		}
	}
	endRun()
	endResults()
	summary, err := os.ReadFile(filepath.Join(dir, "runs", "r1", "manifest.json"))
	if err != nil || !strings.Contains(string(summary), `"samples_got"`) {
		t.Errorf("no telemetry was kept: %v", err)
	}
	err = filepath.WalkDir(filepath.Join(dir, "runs"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), password) {
			t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
