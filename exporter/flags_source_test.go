package exporter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestSourcesThatCannotBeReadAreBadInput(t *testing.T) {
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprintf("--engine.url=http://h:%d", i+1))
	}
	folder := t.TempDir()
	access, wrong := filepath.Join(folder, "access.yml"), filepath.Join(folder, "wrong.yml")
	for path, text := range map[string]string{access: "authorization: {credentials: hunter2-key}\n", wrong: "authorization: hunter2-key\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no URL":             {[]string{"--kvbm.url=127.0.0.1:6880"}, "--kvbm.url: must be"},
		"other scheme":       {[]string{"--engine.url=unix:///run/engine.sock"}, "--engine.url: must"},
		"same twice":         {[]string{"--kvbm.url=http://h", "--kvbm.url=http://h:80/metrics"}, "h:80/metrics is named twice"},
		"too many":           {many, "21 sources; at most 20"},
		"too many with logs": {append(slices.Clone(many[:20]), "--kvbm.log=x.log"), "--kvbm.log: 21 sources"},
		"no log":             {[]string{"--kvbm.log="}, "--kvbm.log"},
		"no size":            {[]string{"--kvbm.bytes-per-block=4MiB"}, `--kvbm.bytes-per-block: "4MiB"`},
		"size of nothing":    {[]string{"--kvbm.bytes-per-block==4"}, `--kvbm.bytes-per-block: "=4"`},
		"no such access":     {[]string{"--engine.url=http://h", "--engine.config.file=/nowhere.yml"}, "--engine.config.file: /nowhere.yml: no such file"},
		"access to nothing":  {[]string{"--engine.config.file=" + access}, "--engine.config.file: no --engine.url"},
		"access elsewhere":   {[]string{"--engine.url=http://h", "--engine.config.file=g:1/metrics=" + access}, "names g:1/metrics"},
		"access twice":       {[]string{"--engine.url=http://h", "--engine.config.file=" + access, "--engine.config.file=" + access}, "two files"},
		"access of no kind":  {[]string{"--engine.url=http://h", "--engine.config.file=" + wrong}, "authorization: must have keys of its own"},
		"size twice":         {[]string{"--kvbm.bytes-per-block=h:1/m=4", "--kvbm.bytes-per-block=h:1/m=8"}, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := run(t, append([]string{"--once"}, c.args...)...)
			if code != 2 || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "hunter2") {
				t.Errorf("exit %d, %q", code, stderr)
			}
		})
	}
}

func TestAKeyGoesToItsPagesOnlyAndIsNeverRepeated(t *testing.T) {
	const key = "hunter2-key"
	var asked []string
	serve := func(name string) *httptest.Server {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				asked = append(asked, name+" "+r.Header.Get("Authorization"))
				fmt.Fprintf(w, "llamacpp:requests_processing{echo=%q} 1\n", r.Header.Get("Authorization"))
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"model_alias":%q,"build_info":%q}`, r.Header.Get("Authorization"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}))
		t.Cleanup(server.Close)
		return server
	}
	one, two := serve("one"), serve("two")
	access := filepath.Join(t.TempDir(), "access.yml")
	if err := os.WriteFile(access, []byte("authorization:\n  credentials: "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := strings.TrimPrefix(one.URL, "http://") + "/metrics"
	for _, verb := range [][]string{{"--once", "--collector.disable-defaults", "--collector.engine", "--log.level=debug"}, {"doctor"}, {"explain", "--direct"}} {
		asked = nil
		code, stdout, stderr := run(t, append(verb, "--no-discovery", "--engine.url="+one.URL, "--engine.url="+two.URL, "--engine.config.file="+source+"="+access)...)
		slices.Sort(asked)
		if code != 0 || !slices.Equal(asked, []string{"one Bearer " + key, "two "}) {
			t.Errorf("%v: exit %d, asked %q, %s", verb, code, asked, stderr)
		}
		if strings.Contains(stdout+stderr, key) {
			t.Errorf("%v repeats the key: %s %s", verb, stdout, stderr)
		}
	}
}

func TestAPasswordInAURLIsNeverRepeated(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	with := strings.Replace(server.URL, "://", "://bob:hunter2@", 1)
	for _, args := range [][]string{
		{"--once", "--kvbm.url=" + with}, {"--once", "--kvbm.url=" + with + ":x"}, {"doctor", "--engine.url=" + with},
		{"--once", "--kvbm.url=" + with, "--kvbm.url=" + with},
	} {
		code, stdout, stderr := run(t, args...)
		if strings.Contains(stdout+stderr, "hunter2") || strings.Contains(stdout+stderr, "bob") {
			t.Errorf("%v: exit %d, %s %s", args[0], code, stdout, stderr)
		}
	}
}

func TestALiveSourceIsReadWithoutAProxy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		io.WriteString(w, "# TYPE kvbm_matched_tokens counter\nkvbm_matched_tokens 117248\n")
	}))
	defer server.Close()
	log := filepath.Join(t.TempDir(), "worker.log")
	must(t, os.WriteFile(log, []byte("KVBM Cache Hit Rates - Host: 50.0% (1/2)\n"), 0o600))
	c := command(t, "--once", "--collector.disable-defaults", "--collector.kvbm", "--kvbm.url="+server.URL, "--kvbm.log="+log)
	c.Env = append(os.Environ(), "HTTP_PROXY=http://127.0.0.1:1", "http_proxy=http://127.0.0.1:1")
	page, err := c.Output()
	must(t, err)
	source := strings.TrimPrefix(server.URL, "http://") + "/metrics"
	wantIn(t, string(page),
		fmt.Sprintf("uma_kvbm_matched_tokens_total{source=%q} 117248\n", source),
		fmt.Sprintf("uma_kvbm_window_queried_blocks{source=%q} 2\n", log),
	)
}

func TestAPipeInThePlaceOfALogIsNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	code, page, _ := run(t, "--once", "--collector.disable-defaults", "--collector.kvbm", "--kvbm.log="+pipe)
	if code != 0 || !strings.Contains(page, `uma_collector_state{collector="kvbm",state="failed"} 1`) {
		t.Errorf("exit %d\n%s", code, page)
	}
}
