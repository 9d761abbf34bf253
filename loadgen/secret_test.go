package loadgen

import (
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// secrets are all that a run may be given, by where.
var secrets = map[string]string{
	"the environment's key": "sk-environment-0123456789",
	"the file's key":        "sk-file-0123456789",
	"a header":              "header-secret-0123456789",
	"a credential":          "credential-secret-0123456789",
	"a query of telemetry":  "telemetry-secret-0123456789",
	"a query of a page":     "page-secret-0123456789",
	"a command":             "command-secret-0123456789",
}

// leaks names the secrets that a text holds.
func leaks(text string) []string {
	var names []string
	for name, secret := range secrets {
		if strings.Contains(text, secret) {
			names = append(names, name)
		}
	}
	return names
}

// repeating is a server that repeats what it was sent wherever it can, as misconfigured gateways do: as the name of its
// model and in what the model writes, too.
func repeating(t *testing.T) *httptest.Server {
	t.Helper()
	var loads atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		output := strings.Join(r.Header["Authorization"], " ") + " " + r.Header.Get("X-Token")
		w.Header().Set("X-Request-Id", output)
		w.Header().Set("Server", output)
		const good = "data: {\"id\":\"%[1]s\",\"model\":\"m %[1]s\",\"system_fingerprint\":\"%[1]s\",\"choices\":[{\"delta\":{\"content\":\"x %[1]s\"},\"finish_reason\":\"stop %[1]s\"}]}\n\ndata: [DONE]\n\n"
		switch {
		case r.URL.Path == "/v1/models":
			fmt.Fprintf(w, `{"data":[{"id":"m %[1]s","owned_by":"%[1]s","root":"%[1]s"}]}`, output)
		case r.URL.Path == "/version":
			fmt.Fprintf(w, `{"version":"%s"}`, output)
		case !strings.HasPrefix(r.URL.Path, "/v1/"):
			http.Error(w, output, http.StatusUnauthorized)
		case r.ContentLength < longestProbe:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, good, output)
		default:
			switch loads.Add(1) % 4 {
			case 0:
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, good, output)
			case 1:
				http.Error(w, "bad key "+output, http.StatusUnauthorized)
			case 2:
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"error\":{\"message\":\"bad key %[1]s\",\"code\":\"%[1]s\"}}\n\n", output)
			case 3:
				http.Redirect(w, r, "http://127.0.0.1:1/?key="+output, http.StatusTemporaryRedirect)
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// everything reads all files of a folder, as they are and unpacked.
func everything(t *testing.T, path string, see func(name, text string)) {
	t.Helper()
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		see(path, string(text))
		if packed, notPacked := gzip.NewReader(strings.NewReader(string(text))); notPacked == nil {
			plain, err := io.ReadAll(packed)
			if err != nil {
				return err
			}
			see(path, string(plain))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// expectNoSecret looks for secrets in all files of a folder, whose number it returns, and in what was
// shown beside them.
func expectNoSecret(t *testing.T, path string, shown map[string]string) (files int) {
	t.Helper()
	everything(t, path, func(name, text string) {
		files++
		for _, secret := range leaks(text) {
			t.Errorf("%s holds %s", name, secret)
		}
	})
	for name, text := range shown {
		for _, secret := range leaks(text) {
			t.Errorf("%s holds %s: %s", name, secret, text)
		}
	}
	return files
}

func TestNoSecretReachesAFileAPageOrAMessage(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", secrets["the environment's key"])
	keyFile := filepath.Join(t.TempDir(), "key")
	overwrite(t, keyFile, secrets["the file's key"]+"\n")
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		output := strings.Join([]string{secrets["a query of telemetry"], secrets["a query of a page"], secrets["a header"]}, " ")
		fmt.Fprintf(w, "uma_exporter_mode{mode=\"constructed\"} 1\numa_host_info{product=%[1]q,vendor=\"x\"} 1\nvllm:prompt_tokens_total{model_name=%[1]q} 1\n", output)
	}))
	defer exporter.Close()
	server := repeating(t)
	common := []string{"--url", server.URL, "--requests=12", "--warmup=1", "--log.level=debug", "--telemetry-interval=100ms", "--web.linger=300ms",
		"--telemetry=spark=" + exporter.URL + "/metrics?token=" + secrets["a query of telemetry"],
		"--scrape=engine=" + exporter.URL + "/metrics?token=" + secrets["a query of a page"],
		"--capture=it=true " + secrets["a command"], "--header=X-Token:" + secrets["a header"],
		"--save-outputs", "--conversations", "--xlsx", "--csv", "--benchstat"}
	for name, more := range map[string][]string{
		"key of the environment": nil,
		"key of a file":          {"--api-key-file=" + keyFile},
		"credential in a header": {"--header=Authorization:Bearer " + secrets["a credential"]},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			var stdout, stderr lockedBuffer
			code := make(chan int)
			go func() {
				args := append([]string{"run", "--out", out, "--run-id=r1", "--web.listen-address=127.0.0.1:0"}, common...)
				code <- Run(t.Context(), append(args, more...), &stdout, &stderr)
			}()
			address := liveAddress(t, &stderr)
			await(t, func() bool { return strings.Contains(stderr.String(), "live metrics stay") })
			response, err := http.Get("http://" + address + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			page, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || len(page) == 0 {
				t.Errorf("the live page: %d bytes, %v", len(page), err)
			}
			if got := <-code; got != exitInvalid {
				t.Errorf("exit %d: %s", got, stderr.String())
			}
			files := expectNoSecret(t, out, map[string]string{"stdout": stdout.String(), "stderr": stderr.String(), "the live page": string(page)})
			if files < 15 {
				t.Errorf("only %d files", files)
			}
		})
	}
}

func TestNoSecretIsInTheComplaintAboutIt(t *testing.T) {
	secret := secrets["a credential"]
	server := engine(t, time.Millisecond)
	for name, args := range map[string][]string{
		"user info of the server":       {"--url", "http://me:" + secret + "@127.0.0.1:1"},
		"user info without a scheme":    {"--url", "me:" + secret + "@127.0.0.1:1"},
		"query of the server":           {"--url", "http://127.0.0.1:1/?key=" + secret},
		"user info of telemetry":        {"--url", server, "--telemetry=a=http://me:" + secret + "@127.0.0.1:1"},
		"telemetry that is not there":   {"--url", server, "--telemetry=a=http://127.0.0.1:1/?key=" + secret},
		"telemetry that is no address":  {"--url", server, "--telemetry=a=http://127.0.0.1:%zz/?key=" + secret},
		"a header without a name":       {"--url", server, "--header=" + secret},
		"a header with control letters": {"--url", server, "--header=X-Key:" + secret + "\r\nY: z"},
		"a command without a name":      {"--url", server, "--capture=curl -H " + secret},
	} {
		code, _, stdout, stderr := invoke(t, t.Context(), args...)
		if code != exitUsage || stderr == "" {
			t.Errorf("%s: exit %d: %s", name, code, stderr)
		}
		if len(leaks(stdout+stderr)) > 0 {
			t.Errorf("%s: %s%s", name, stdout, stderr)
		}
	}
}
