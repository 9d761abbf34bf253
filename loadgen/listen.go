package loadgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

const (
	healthPath = "/-/healthy"
	// nextPorts is how many ports after a default one in use are tried.
	nextPorts = 100
)

// listen opens the address of the live metrics. A default address in use is no reason not to
// run: the next free port is taken and said. An address that somebody asked for is one.
func listen(w web, log *slog.Logger) (net.Listener, error) {
	listener, err := net.Listen("tcp", w.address)
	if err == nil {
		return listener, nil
	}
	if w.explicit || !errors.Is(err, syscall.EADDRINUSE) {
		return nil, usage(fmt.Errorf("--web.listen-address: %w", err))
	}
	host, port, err := net.SplitHostPort(w.address)
	if err != nil {
		return nil, err
	}
	first, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	for next := first + 1; next <= first+nextPorts; next++ {
		listener, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(next)))
		if err == nil {
			log.Warn("default address in use; live metrics are on the next free port", "default", w.address, "address", listener.Addr().String())
			return listener, nil
		}
	}
	return nil, usage(fmt.Errorf("--web.listen-address: %s and the %d ports after it are in use", w.address, nextPorts))
}

// serve answers on the listener until the returned function is called.
func serve(listener net.Listener, handler http.Handler) (stop func()) {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// It ends with ErrServerClosed; anything else leaves a run without live metrics, which
		// its scrapers notice, and is no reason to lose the run.
		_ = server.Serve(listener)
	}()
	return func() {
		server.Close()
		<-done
	}
}

// healthcheck asks the program that listens on the address whether it is alive.
func healthcheck(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+healthPath, nil)
	if err != nil {
		return usage(fmt.Errorf("--web.listen-address: %w", err))
	}
	client := &http.Client{CheckRedirect: refuseRedirect, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("%s: %w", address, withoutURL(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d", address, response.StatusCode)
	}
	return nil
}
