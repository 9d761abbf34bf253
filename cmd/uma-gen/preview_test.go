package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestThePreviewRefusesBadInputInOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	for want, args := range map[string][]string{
		"--listen " + address + ": address already in use; port 0": {"--dir", root, "--listen", address},
		"--listen 127.0.0.1:99999":                                 {"--dir", root, "--listen", "127.0.0.1:99999"},
		"--dir /nowhere: no checkout":                              {"--dir", "/nowhere"},
		`--prometheus: "nine" is no`:                               {"--dir", root, "--listen", "127.0.0.1:0", "--prometheus", "nine"},
		"unknown flag --grafana: uma-gen preview --help":           {"--grafana"},
		`--listen "": want HOST:PORT`:                              {"--dir", root, "--listen="},
		`--scrape-interval: "soon" is not a duration`:              {"--dir", root, "--scrape-interval", "soon"},
		"--scrape-interval: must be more than 0s":                  {"--dir", root, "--scrape-interval", "0s"},
		`--scrape-interval: "-5s" is not a duration`:               {"--dir", root, "--scrape-interval=-5s"},
	} {
		code, stdout, stderr := runIn(t, append([]string{"preview"}, args...)...)
		if code != exitInput || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) || stdout != "" {
			t.Errorf("%v: exit %d, %q, %q", args, code, stdout, stderr)
		}
	}
	if code, stdout, _ := runIn(t, "preview", "--help"); code != exitDone || !strings.Contains(stdout, "--prometheus") {
		t.Errorf("help: exit %d, %q", code, stdout)
	}
}

func TestAPreviewWithoutAPrometheusWarnsThatItsPagesAreEmpty(t *testing.T) {
	const gone = "http://127.0.0.1:1"
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for address, says := range map[string]string{gone: "connection refused; until one answers there", other.URL: "answers 404 Not Found; until one answers there"} {
		ctx, stop := context.WithCancel(t.Context())
		var warned strings.Builder
		ended := make(chan int)
		read, write := io.Pipe()
		go func() {
			code := servePreview(ctx, previewFlags{prometheus: address, listen: "127.0.0.1:0", explicit: true, dir: root, scrape: time.Second}, write, &warned)
			write.Close()
			ended <- code
		}()
		announced, _ := bufio.NewReader(read).ReadString('\n')
		stop()
		if code := <-ended; code != exitDone || !strings.Contains(announced, "dashboards on") || !strings.Contains(warned.String(), says) {
			t.Errorf("exit %d, %q, warned %q", code, announced, warned.String())
		}
	}
}

func TestTheDefaultPortOfThePreviewGivesWay(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var warning strings.Builder
	listener, err := listenPreview(previewFlags{listen: taken.Addr().String()}, &warning)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if !strings.Contains(warning.String(), "is in use, listening on "+listener.Addr().String()) {
		t.Errorf("warning %q", warning.String())
	}
}

// Whoever reaches the port reads the Prometheus, of which nobody thinks who only wanted to look from a phone.
func TestAPreviewThatOthersCanReachWarns(t *testing.T) {
	for address, want := range map[string]bool{"0.0.0.0:0": true, ":0": true, "127.0.0.1:0": false, "localhost:0": false} {
		var warning strings.Builder
		listener, err := listenPreview(previewFlags{listen: address, explicit: true}, &warning)
		if err != nil {
			t.Fatal(err)
		}
		listener.Close()
		if got := strings.Contains(warning.String(), "can be read by whoever reaches it"); got != want || strings.Count(warning.String(), "\n") > 1 {
			t.Errorf("%s: warning %q", address, warning.String())
		}
	}
}

// told hands what is printed to the test as it comes.
type told chan string

func (c told) Write(text []byte) (int, error) {
	c <- string(text)
	return len(text), nil
}

func TestThePreviewServesTheCheckoutUntilItIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	stdout, ended := make(told, 1), make(chan int, 1)
	var stderr strings.Builder
	flags := previewFlags{dir: root, listen: "127.0.0.1:0", explicit: true, prometheus: "http://127.0.0.1:1"}
	go func() { ended <- servePreview(ctx, flags, stdout, &stderr) }()
	var line string
	select {
	case line = <-stdout:
	case code := <-ended:
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	_, rest, found := strings.Cut(line, "http://")
	address, _, _ := strings.Cut(rest, " ")
	if !found || !strings.Contains(line, "a preview, not Grafana") {
		t.Fatalf("told %q", line)
	}
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + address + "/d/umascope-unified-memory")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status %s", response.Status)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example"
	if response, err = client.Do(request); err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("by a foreign name: %s", response.Status)
	}
	client.CloseIdleConnections()
	interrupt()
	if code := <-ended; code != exitDone {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}
