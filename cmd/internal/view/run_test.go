package view

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// TestEveryPathNeedsThePassword starts the whole program.
func TestEveryPathNeedsThePassword(t *testing.T) {
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, machinePage) }))
	defer machine.Close()
	config := filepath.Join(t.TempDir(), "web.yml")
	hash, err := bcrypt.GenerateFromPassword([]byte("alice123"), bcrypt.MinCost)
	if err == nil {
		err = os.WriteFile(config, []byte("basic_auth_users: {alice: "+string(hash)+"}\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_CONNECTION", "") // which adds a line to the output
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var stderr strings.Builder
	code := make(chan int, 1)
	none := filepath.Join(t.TempDir(), "none")
	go func() {
		code <- Run(ctx, []string{"--web.listen-address=127.0.0.1:0", "--web.config.file=" + config, "--data=" + t.TempDir(), "--runs=" + none, "--exporter=" + machine.URL + "/metrics",
			"--webhook=" + secretURL, "--webhook=https://hook.example/s3cret", "--remote-write=http://me:s3cret@127.0.0.1:1/write"}, write, &stderr)
		write.Close()
	}()
	output := bufio.NewReader(read)
	line, err := output.ReadString('\n')
	if second, _ := output.ReadString('\n'); second != none+" does not exist yet. uma-load run makes it; --runs names another folder.\n" {
		t.Errorf("of a folder of runs that does not exist: %q", second)
	}
	go io.Copy(io.Discard, read)
	address, found := strings.CutPrefix(strings.Split(line, ";")[0], "uma-view on ")
	if err != nil || !found || strings.Contains(line, "s3cret") {
		t.Fatalf("%q, %v; exit %d: %s", line, err, <-code, &stderr)
	}
	ask := func(path, password, host string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if password != "" {
			request.SetBasicAuth("alice", password)
		}
		request.Host = host
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	for _, path := range everyPath {
		for _, password := range []string{"", "wrong"} {
			if got := ask(path, password, ""); got != http.StatusUnauthorized {
				t.Errorf("%s with password %q: %d", path, password, got)
			}
		}
	}
	if got := ask("/alerts", "alice123", ""); got != http.StatusOK {
		t.Errorf("with the password: %d", got)
	}
	for _, host := range []string{exporterInside, runsInside, queryInside, "rebound.example"} {
		if got := ask("/metrics", "alice123", host); got != http.StatusForbidden {
			t.Errorf("for the host %s: %d", host, got)
		}
	}
	client := filepath.Join(t.TempDir(), "client.yml")
	if err := os.WriteFile(client, []byte("basic_auth: {username: alice, password: alice123}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]int{client: exitDone, "none": exitInput, "": exitFailed} {
		var out, problem strings.Builder
		if got := Run(t.Context(), []string{"healthcheck", "--url=" + address + "/-/healthy", "--http.config.file=" + file}, &out, &problem); got != want || got == exitDone != (out.String() == "ok\n") {
			t.Errorf("healthcheck with %q: exit %d, %s%s", file, got, &out, &problem)
		}
	}
	stop()
	if got := <-code; got != exitDone || strings.Contains(stderr.String(), "s3cret") {
		t.Errorf("exit %d: %s", got, &stderr)
	}
}

func TestBadInputIsNamedWithoutSecrets(t *testing.T) {
	for args, want := range map[string]string{
		"--webhook=s3cret":                                    "--webhook",
		"--webhook=ftp://s3cret":                              "--webhook",
		"--web.config.file=none.yml":                          "--web.config.file none.yml: ",
		"--targets=none.yaml":                                 "none.yaml",
		"--web.listen-address=10430":                          "--web.listen-address",
		"--exporter=127.0.0.1:10420":                          "--exporter",
		"--web.listen-address=127.0.0.1:0 --data=/dev/null/x": "--data",
		"healthcheck --url=me:s3cret@host":                    "--url",
	} {
		var stdout, stderr strings.Builder
		code := Run(t.Context(), append(strings.Fields(args), map[bool][]string{false: {"--runs=" + t.TempDir()}}[strings.HasPrefix(args, "healthcheck")]...), &stdout, &stderr)
		if code == exitDone || !strings.Contains(stderr.String(), want) || strings.Count(stderr.String(), "\n") != 1 || strings.Contains(stderr.String(), "s3cret") {
			t.Errorf("%s: exit %d: %s", args, code, &stderr)
		}
	}
}
