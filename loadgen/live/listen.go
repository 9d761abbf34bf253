package live

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

const (
	// HealthPath answers 200 while the program lives.
	HealthPath = "/-/healthy"
	// nextPorts is how many ports after a default one in use are tried.
	nextPorts = 100
)

// Address is where live metrics are served.
type Address struct {
	HostPort string
	// Explicit: somebody asked for this one, and no other will do.
	Explicit bool
	// ConfigFile says what readers need: TLS, passwords; empty is nothing.
	ConfigFile string
	// AllowHosts are the host names by which pages may be asked for beside those of the loopback.
	AllowHosts []string
}

// AddressError says that an address cannot be served on or asked, and names its flag.
type AddressError struct{ err error }

func (e AddressError) Error() string { return "--web.listen-address: " + e.err.Error() }

func (e AddressError) Unwrap() error { return e.err }

// listen opens the address of the live metrics. A default address in use is no reason not to
// run: the next free port is taken and said. An address that somebody asked for is one.
func listen(a Address, log *slog.Logger) (net.Listener, error) {
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

// mostReaders is how many connections the live page has at once. Each has a descriptor of those that a run keeps for itself.
const mostReaders = 128

// sendTimeout is for a slow reader.
const sendTimeout = 30 * time.Second

// serve answers on the listener until the returned function is called.
func serve(listener net.Listener, handler http.Handler, allowHosts []string, guard protection, log *slog.Logger) (stop func()) {
	server, limited := webserver.New(listener, handler, webserver.Settings{MostConnections: mostReaders, WriteTimeout: sendTimeout, AllowHosts: allowHosts})
	done := make(chan struct{})
	go func() {
		defer close(done)
		// It ends with ErrServerClosed; anything else leaves a run without live metrics, which
		// its scrapers notice, and is no reason to lose the run.
		_ = guard.serve(limited, server, log)
	}()
	return func() {
		server.Close()
		<-done
	}
}
