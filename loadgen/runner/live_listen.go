package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/umascope/umascope/cmd/webserver"
)

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

// listenFlag is the flag of the address that live metrics are served at.
const listenFlag = "--web.listen-address"

// listen opens the address of the live metrics. If the default address is in use, it takes the next free port and logs
// it. If the user chose the address, it fails.
func listen(a ListenAddress, n Network, log *slog.Logger) (net.Listener, error) {
	if n.Listen == nil {
		n.Listen = net.Listen
	}
	listener, err := webserver.ListenOn(n.Listen, a.HostPort, !a.Explicit)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, inputOf(listenFlag, fmt.Errorf("%w; port 0 takes one that is free", err))
	}
	if err != nil {
		return nil, inputOf(listenFlag, err)
	}
	if address := listener.Addr().String(); !a.Explicit && address != a.HostPort {
		log.Warn("default address in use; live metrics are on the next free port, which uma-view reads only if started for it", "default", a.HostPort, "address", address, "view", "uma-view --load "+address)
	}
	return listener, nil
}

// mostReaders is the most connections to the live page at once. Each takes one of the file descriptors that a run
// reserves for itself.
const mostReaders = 128

// sendTimeout is the longest that a slow reader may take.
const sendTimeout = 30 * time.Second

// serve answers on the listener until the returned function is called.
func serve(listener net.Listener, handler http.Handler, allowHosts []string, guard webserver.Protection, log *slog.Logger) (stop func()) {
	server, limited := webserver.New(listener, handler, webserver.Settings{MostConnections: mostReaders, WriteTimeout: sendTimeout, AllowHosts: allowHosts})
	done := make(chan struct{})
	go func() {
		defer close(done)
		// It ends with ErrServerClosed. Any other error leaves the run without live metrics, which its scrapers
		// notice; the run continues.
		_ = guard.Serve(limited, server, log)
	}()
	return func() {
		server.Close()
		<-done
	}
}
