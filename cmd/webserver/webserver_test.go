package webserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

// pipes is a listener whose connections are pipes in memory, which have deadlines by a virtual clock.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
	at      net.Addr
}

func newPipes() *pipes {
	return &pipes{make(chan net.Conn), make(chan struct{}), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return p.at }

func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close() })
	select {
	case p.dialled <- theirs:
	case <-time.After(time.Minute):
		t.Fatal("the connection is not accepted")
	}
	return ours
}

// serving serves until the test ends.
func serving(t *testing.T, p *pipes, handler http.Handler, s Settings) {
	t.Helper()
	server, listener := New(p, handler, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// ask sends a request and returns the answer with its body.
func ask(conn net.Conn, request string) (*http.Response, string, error) {
	go io.WriteString(conn, request)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, "", err
	}
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

const scrape = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

func answer(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") }

func mustScrape(t *testing.T, p *pipes, when string) net.Conn {
	t.Helper()
	conn := p.dial(t)
	response, text, err := ask(conn, scrape)
	if err != nil || response.StatusCode != http.StatusOK || text != "page" {
		t.Fatalf("%s: %v, %q, %v", when, response, text, err)
	}
	return conn
}

// TestConnectionsThatSendNothingLockNoOtherOut fills every place in each of the ways, and asks once.
func TestConnectionsThatSendNothingLockNoOtherOut(t *testing.T) {
	const most, many = 128, 300
	for name, fill := range map[string]func(t *testing.T, p *pipes){
		"nothing is sent":     func(t *testing.T, p *pipes) { p.dial(t) },
		"half a request line": func(t *testing.T, p *pipes) { io.WriteString(p.dial(t), "GET /met") },
		"kept after a scrape": func(t *testing.T, p *pipes) { mustScrape(t, p, "one of many") },
		"a body that never comes": func(t *testing.T, p *pipes) {
			io.WriteString(p.dial(t), "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n")
		},
		"an answer that is not read": func(t *testing.T, p *pipes) {
			io.WriteString(p.dial(t), "GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				mux := http.NewServeMux()
				mux.HandleFunc("GET /metrics", answer)
				mux.HandleFunc("GET /large", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20)) })
				serving(t, p, mux, Settings{MostConnections: most, WriteTimeout: 30 * time.Second})
				for range many {
					fill(t, p)
				}
				began := time.Now()
				mustScrape(t, p, "after them")
				if took := time.Since(began); took != 0 {
					t.Errorf("the scrape waited %v", took)
				}
			})
		})
	}
}

// TestARequestUnderWayKeepsItsPlace holds that connections without a request go first, oldest first.
func TestARequestUnderWayKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := newPipes(), make(chan struct{})
		mux := http.NewServeMux()
		mux.HandleFunc("GET /metrics", answer)
		mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
			<-release
			answer(w, r)
		})
		serving(t, p, mux, Settings{MostConnections: 3})
		slow, page := p.dial(t), make(chan string, 1)
		go func() {
			_, text, err := ask(slow, strings.Replace(scrape, "/metrics", "/slow", 1))
			page <- fmt.Sprint(text, err)
		}()
		synctest.Wait()
		older, newer := mustScrape(t, p, "older"), mustScrape(t, p, "newer")
		if _, _, err := ask(older, scrape); err != nil { // newer has waited longer now
			t.Fatal(err)
		}
		synctest.Wait()
		mustScrape(t, p, "a fourth")
		if _, _, err := ask(older, scrape); err != nil {
			t.Errorf("the connection that was asked last is closed: %v", err)
		}
		if _, _, err := ask(newer, scrape); err == nil {
			t.Error("the connection that waited longest is open")
		}
		close(release)
		if got := <-page; got != "page<nil>" {
			t.Errorf("the request under way: %s", got)
		}
	})
}

func TestConnectionsEndByThemselves(t *testing.T) {
	for name, test := range map[string]struct {
		send string
		ends time.Duration
	}{
		"nothing is sent":      {"", headerTimeout},
		"half a request":       {"GET /metrics HTTP/1.1\r\nHost: 127", headerTimeout},
		"nothing after a page": {scrape, idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				serving(t, p, http.HandlerFunc(answer), Settings{MostConnections: 2})
				conn, began := p.dial(t), time.Now()
				go io.WriteString(conn, test.send)
				io.Copy(io.Discard, conn)
				if took := time.Since(began); took != test.ends {
					t.Errorf("open for %v, want %v", took, test.ends)
				}
			})
		})
	}
}

func TestForeignHostNamesAreRefusedOnLoopback(t *testing.T) {
	loopback, other := net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 7)
	for _, test := range []struct {
		at      net.IP
		allowed []string
		hosts   []string
		want    int
	}{
		{loopback, nil, []string{"127.0.0.1", "127.0.0.1:10420", "[::1]:10420", "10.0.0.7:80", "localhost", "LOCALHOST:1", "localhost.", "a.localhost"}, http.StatusOK},
		{loopback, nil, []string{"evil.example", "evil.example:10420", "127.0.0.1.evil.example", "localhost.evil.example", "notlocalhost", "spark-1"}, http.StatusForbidden},
		{loopback, []string{"metrics.example.org"}, []string{"metrics.example.org", "Metrics.Example.Org.:443", "127.0.0.1"}, http.StatusOK},
		{loopback, []string{"metrics.example.org"}, []string{"evil.example", "x.metrics.example.org"}, http.StatusForbidden},
		{net.IPv6loopback, nil, []string{"evil.example"}, http.StatusForbidden},
		{other, nil, []string{"evil.example", "spark-1:10420", "10.0.0.7"}, http.StatusOK},
		{net.IPv4zero, nil, []string{"spark-1:10420"}, http.StatusOK},
		{other, []string{"spark-1"}, []string{"spark-1:10420", "10.0.0.7:10420"}, http.StatusOK},
		{other, []string{"spark-1"}, []string{"evil.example"}, http.StatusForbidden},
	} {
		for _, host := range test.hosts {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				p.at = &net.TCPAddr{IP: test.at, Port: 10420}
				serving(t, p, http.HandlerFunc(answer), Settings{AllowHosts: test.allowed})
				response, text, err := ask(p.dial(t), "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
				if err != nil || response.StatusCode != test.want {
					t.Fatalf("%s on %v, %q allowed: %v, %v", host, test.at, test.allowed, response, err)
				}
				if test.want == http.StatusForbidden && (!strings.Contains(text, "--web.allow-host "+strings.Split(host, ":")[0]) || strings.Count(text, "\n") != 1) {
					t.Errorf("%s: %q does not name the flag in one line", host, text)
				}
			})
		}
	}
}

func TestHostsWithoutANameAreAnsweredAndOddOnesNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		serving(t, p, http.HandlerFunc(answer), Settings{})
		if response, _, err := ask(p.dial(t), "GET / HTTP/1.0\r\n\r\n"); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("HTTP/1.0 without a host: %v, %v", response, err)
		}
		if _, text, err := ask(p.dial(t), "GET / HTTP/1.1\r\nHost: a$(id)'b\r\n\r\n"); err != nil || strings.Contains(text, "id") {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func FuzzParseHost(f *testing.F) {
	for _, seed := range []string{"metrics.example.org", "A.", "a:1", "http://a", "", ".", "a..b", "127.0.0.1", "*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := parseHost(text)
		if err != nil {
			return
		}
		again, err := parseHost(name)
		if again != name || err != nil || !hostName.MatchString(name) || len(name) > longestHostName {
			t.Errorf("%q is %q, then %q, %v", text, name, again, err)
		}
	})
}

func TestHeadersThatAreTooLongAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		serving(t, p, http.HandlerFunc(answer), Settings{})
		response, _, err := ask(p.dial(t), "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: "+strings.Repeat("x", 2*maxHeaderBytes)+"\r\n\r\n")
		if err != nil || response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%v, %v", response, err)
		}
	})
}

func TestTheFlagTakesHostNamesAlone(t *testing.T) {
	for text, want := range map[string]string{"Metrics.Example.org.": "metrics.example.org", "spark-1": "spark-1", "http://a": "", "a:80": "", "": "", "*": ""} {
		var names []string
		app := kingpin.New("x", "")
		AllowHostFlag(app, &names)
		_, err := app.Parse([]string{"--web.allow-host=b", "--web.allow-host=" + text})
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "--web.allow-host: ")):
			t.Errorf("%q: %v", text, err)
		case want != "" && (err != nil || !slices.Equal(names, []string{"b", want})):
			t.Errorf("%q: %q, %v", text, names, err)
		}
	}
}
