package sim

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

// get asks for one path.
func get(e *Engine, path string) *client {
	c := &client{header: http.Header{}, status: http.StatusOK, began: time.Now()}
	e.Handler().ServeHTTP(c, httptest.NewRequest(http.MethodGet, path, nil))
	return c
}

// listener opens a free port of the loopback, and the same one again and again.
func listener(t *testing.T) (listen func() (net.Listener, error), url string) {
	t.Helper()
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := first.Addr().String()
	return func() (net.Listener, error) {
		if l := first; l != nil {
			first = nil
			return l, nil
		}
		return net.Listen("tcp", address)
	}, "http://" + address
}
