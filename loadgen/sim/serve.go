package sim

import (
	"context"
	"math"
	"net"
	"net/http"
	"time"
)

// Immediate returns the default configuration with prompts that are read at once, and a step of decoding that takes so
// long whatever the batch.
func Immediate(step time.Duration) Config {
	c := Default()
	c.PrefillTokensPerSecond, c.DecodeBase, c.DecodePerSequence = math.Inf(1), step, 0
	return c
}

// headerTimeout is how long a client may take to send the headers of a request.
const headerTimeout = time.Minute

// Serve runs an engine on a free port of loopback, and returns once it accepts requests. stop ends the engine and its
// connections.
func Serve(config Config) (engine *Engine, url string, stop func(), err error) {
	engine, err = New(config)
	if err != nil {
		return nil, "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{Handler: engine.Handler(), ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	go func() { _ = server.Serve(listener) }() // it ends with ErrServerClosed
	stop = func() {
		cancel()
		<-ended
		server.Close()
	}
	for !engine.accepts() {
		select {
		case err = <-ended:
			cancel()
			server.Close()
			return nil, "", nil, err
		case <-time.After(time.Millisecond):
		}
	}
	return engine, "http://" + listener.Addr().String(), stop, nil
}

// accepts reports whether the engine accepts requests.
func (e *Engine) accepts() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}
