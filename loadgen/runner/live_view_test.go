package runner

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/loadgen/render"
)

// pipes is a listener whose connections are pipes in memory, which have deadlines by a virtual clock.
type pipes struct{ dialled, closed chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// watch asks for frames and returns the connection with its answer.
func (p pipes) watch(t *testing.T) (net.Conn, *http.Response) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close() })
	p.dialled <- theirs
	go io.WriteString(ours, "GET /events?columns=80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(ours), nil)
	if err != nil {
		t.Fatal(err)
	}
	return ours, response
}

// viewed serves a view, by a server with the limits of the live page, until the test ends.
func viewed(t *testing.T) (*liveView, pipes) {
	t.Helper()
	v, p := &liveView{}, pipes{make(chan net.Conn), make(chan net.Conn)}
	mux := http.NewServeMux()
	v.handle(mux)
	t.Cleanup(serve(p, mux, nil, webserver.Protection{}, slog.New(slog.DiscardHandler)))
	return v, p
}

// nextFrame reads an event and returns its name, or the text of its frame.
func nextFrame(t *testing.T, r *bufio.Scanner) string {
	t.Helper()
	name := ""
	for r.Scan() {
		if event, is := strings.CutPrefix(r.Text(), "event: "); is {
			name = event
		}
		data, is := strings.CutPrefix(r.Text(), "data: ")
		if !is {
			continue
		}
		if name != "" {
			return name
		}
		var frame [][][2]string
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		var text strings.Builder
		for _, line := range frame {
			for _, span := range line {
				text.WriteString(span[1])
			}
			text.WriteString("\n")
		}
		return text.String()
	}
	t.Fatalf("the events ended: %v", r.Err())
	return ""
}

// TestABrowserSeesARunLongerThanTheLimitsOfAnAnswer watches for twice the time that any other answer may take.
func TestABrowserSeesARunLongerThanTheLimitsOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, p := viewed(t)
		_, response := p.watch(t)
		if response.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%v", response)
		}
		events := bufio.NewScanner(response.Body)
		if got := nextFrame(t, events); !strings.Contains(got, "No run has begun yet") {
			t.Errorf("before the run: %q", got)
		}
		began := time.Now()
		for i := range 60 {
			v.update(Progress{Run: fmt.Sprint("run-", i)})
			if got := nextFrame(t, events); !strings.Contains(got, fmt.Sprint("run-", i)) {
				t.Fatalf("%q at %d", got, i)
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took < 2*sendTimeout {
			t.Fatalf("watched for %v", took)
		}
		v.Report("report.html")
		if got := nextFrame(t, events); got != "report" {
			t.Errorf("at the end: %q", got)
		}
		if _, err := response.Body.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestASlowBrowserLosesFramesAndDelaysNobody reads one frame a minute at first, and then none.
func TestASlowBrowserLosesFramesAndDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, p := viewed(t)
		v.update(Progress{Run: "run-0"})
		_, slow := p.watch(t)
		_, quick := p.watch(t)
		events := bufio.NewScanner(quick.Body)
		began := time.Now()
		for i := range 20 {
			before := time.Now()
			v.update(Progress{Run: fmt.Sprint("run-", i)})
			if took := time.Since(before); took != 0 {
				t.Fatalf("the run waited %v", took)
			}
			if got := nextFrame(t, events); !strings.Contains(got, fmt.Sprint("run-", i)) {
				t.Fatalf("the other browser sees %q at %d", got, i)
			}
			time.Sleep(redrawInterval)
		}
		if took := time.Since(began); took > 20*2*redrawInterval {
			t.Errorf("20 frames took %v", took)
		}
		time.Sleep(2 * frameTimeout)
		if text, err := io.ReadAll(slow.Body); strings.Count(string(text), "data: ") > 1 || err == nil {
			t.Errorf("the slow browser got %d frames, %v", strings.Count(string(text), "data: "), err)
		}
		if n := v.watchers.Load(); n != 1 {
			t.Errorf("%d watch after it was dropped", n)
		}
	})
}

func TestSoManyBrowsersWatchAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, p := viewed(t)
		var first net.Conn
		for i := range mostWatchers {
			conn, response := p.watch(t)
			if response.StatusCode != http.StatusOK {
				t.Fatalf("browser %d: %v", i+1, response)
			}
			if i == 0 {
				first = conn
			}
			go io.Copy(io.Discard, response.Body)
		}
		if _, response := p.watch(t); response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("one more: %v", response)
		}
		first.Close()
		v.update(Progress{Run: "a"}) // written to the browser that has left
		time.Sleep(2 * redrawInterval)
		if _, response := p.watch(t); response.StatusCode != http.StatusOK {
			t.Errorf("after one has left: %v", response)
		}
	})
}

func pageOf(t *testing.T, v *liveView, path string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	v.handle(mux)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer
}

func TestThePageShowsTheRunEscapedAndLaterItsReport(t *testing.T) {
	v := &liveView{}
	if page := pageOf(t, v, "/").Body.String(); !strings.Contains(page, "No run has begun yet") {
		t.Errorf("%q", page)
	}
	v.update(Progress{Run: "<script>alert(1)</script>", Model: `"><img src=x onerror=alert(1)>` + "\x1b[2J"})
	page := pageOf(t, v, "/")
	if body := page.Body.String(); strings.Contains(body, "<script>alert") || strings.Contains(body, "<img") || strings.Contains(body, "\x1b") || !strings.Contains(body, "&lt;script&gt;") {
		t.Errorf("%q", body)
	}
	if policy := page.Header().Get("Content-Security-Policy"); policy != render.LivePolicy || strings.Contains(policy, "script-src 'unsafe") {
		t.Errorf("policy %q", policy)
	}
	if script := pageOf(t, v, "/"+render.LiveScriptFile); script.Code != http.StatusOK || strings.Contains(script.Body.String(), "innerHTML") || !strings.HasPrefix(script.Header().Get("Content-Type"), "text/javascript") {
		t.Errorf("script: %d, %v", script.Code, script.Header())
	}
	if answer := pageOf(t, v, "/events?columns=x"); answer.Code != http.StatusBadRequest {
		t.Errorf("columns=x: %d", answer.Code)
	}
	report := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(report, []byte("the report"), 0o644); err != nil {
		t.Fatal(err)
	}
	v.Report(report)
	if page := pageOf(t, v, "/"); page.Body.String() != "the report" || !strings.HasPrefix(page.Header().Get("Content-Type"), "text/html") || page.Header().Get("Content-Security-Policy") != render.Policy() {
		t.Errorf("%q, %v", page.Body.String(), page.Header())
	}
}
