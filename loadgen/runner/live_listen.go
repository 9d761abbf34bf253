package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/umascope/umascope/cmd/webserver"
)

// nextPorts is how many ports are tried after a default port that is in use.
const nextPorts = 100

// ListenAddress is where live metrics are served.
type ListenAddress struct {
	HostPort string
	// Explicit is true if the user chose this address, so that no other is tried.
	Explicit bool
	// ConfigFile is the path of the file with TLS settings and passwords for readers; empty means none.
	ConfigFile string
	// AllowHosts are the host names that requests may use, in addition to those of the loopback interface.
	AllowHosts []string
}

// AddressError is an address that cannot be listened on or requested. It names its flag.
type AddressError struct{ err error }

func (e AddressError) Error() string { return "--web.listen-address: " + e.err.Error() }

func (e AddressError) Unwrap() error { return e.err }

// listen opens the address of the live metrics. If the default address is in use, it takes the next free port and logs
// it. If the user chose the address, it fails.
func listen(a ListenAddress, log *slog.Logger) (net.Listener, error) {
	listener, err := net.Listen("tcp", a.HostPort)
	if err == nil {
		return listener, nil
	}
	taken := errors.Is(err, syscall.EADDRINUSE)
	if taken && a.Explicit {
		return nil, AddressError{fmt.Errorf("%w; port 0 takes one that is free", err)}
	}
	if !taken {
		return nil, AddressError{err}
	}
	host, port, err := net.SplitHostPort(a.HostPort)
	if err != nil {
		return nil, AddressError{err}
	}
	first, err := strconv.Atoi(port)
	if err != nil {
		return nil, AddressError{err}
	}
	for next := first + 1; next <= first+nextPorts; next++ {
		listener, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(next)))
		if err == nil {
			log.Warn("default address in use; live metrics are on the next free port", "default", a.HostPort, "address", listener.Addr().String())
			return listener, nil
		}
	}
	return nil, AddressError{fmt.Errorf("%s and the %d ports after it are in use", a.HostPort, nextPorts)}
}

// mostReaders is the most connections to the live page at once. Each takes one of the file descriptors that a run
// reserves for itself.
const mostReaders = 128

// sendTimeout is the longest that a slow reader may take.
const sendTimeout = 30 * time.Second

// serve answers on the listener until the returned function is called.
func serve(listener net.Listener, handler http.Handler, allowHosts []string, guard protection, log *slog.Logger) (stop func()) {
	server, limited := webserver.New(listener, handler, webserver.Settings{MostConnections: mostReaders, WriteTimeout: sendTimeout, AllowHosts: allowHosts})
	done := make(chan struct{})
	go func() {
		defer close(done)
		// It ends with ErrServerClosed. Any other error leaves the run without live metrics, which its scrapers
		// notice; the run continues.
		_ = guard.serve(limited, server, log)
	}()
	return func() {
		server.Close()
		<-done
	}
}
