package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const address = "pages.inside:80"

// get reads a page over a network.
func get(n *Network) (string, error) {
	transport := &http.Transport{DialContext: n.Dial}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("http://" + address)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// listen opens the address, and serves a text there that takes a minute.
func listen(t *testing.T, n *Network, text string) *http.Server {
	t.Helper()
	l, err := n.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Minute)
		_, _ = io.WriteString(w, text)
	})}
	go server.Serve(l) //nolint:errcheck // it ends by Close
	return server
}

func TestAServerOfThisProcessAnswersOnAVirtualClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Network{}
		server := listen(t, n, "first")
		begun := time.Now()
		if text, err := get(n); text != "first" || err != nil || time.Since(begun) != time.Minute {
			t.Errorf("%q, %v, after %s", text, err, time.Since(begun))
		}
		if _, err := n.Listen("tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a second listener: %v", err)
		}
		server.Close()
		if _, err := get(n); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a closed server: %v", err)
		}
		again := listen(t, n, "second")
		defer again.Close()
		if text, err := get(n); text != "second" || err != nil {
			t.Errorf("the next server: %q, %v", text, err)
		}
	})
}

// TestADialThatIsNotAcceptedEndsWithItsContext: a server that accepts nothing lets its clients wait.
func TestADialThatIsNotAcceptedEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Network{}
		l, err := n.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := n.Dial(ctx, "tcp", address); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		waiting := make(chan error)
		go func() {
			_, err := n.Dial(t.Context(), "tcp", address)
			waiting <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-waiting; !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("while the server closes: %v", err)
		}
	})
}

// TestOnlyAddressesWithoutAServerAreOutside: one that a server has had stays inside, so that its name is never looked up.
func TestOnlyAddressesWithoutAServerAreOutside(t *testing.T) {
	var dialled []string
	n := &Network{Outside: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, syscall.EHOSTUNREACH
	}}
	if _, err := n.Dial(t.Context(), "tcp", "192.0.2.1:80"); !errors.Is(err, syscall.EHOSTUNREACH) {
		t.Error(err)
	}
	l, err := n.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := n.Dial(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
	if _, err := (&Network{}).Dial(t.Context(), "tcp", "192.0.2.1:80"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("without an outside: %v", err)
	}
	if len(dialled) != 1 || dialled[0] != "192.0.2.1:80" {
		t.Errorf("dialled outside: %v", dialled)
	}
}
