package sim

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is an engine with its listener, for crashes: when the engine crashes, the listener closes and all connections
// break; after Downtime both are back.
type Server struct {
	Engine *Engine
	// Listen opens the listener, again after every crash; it has to use the same address.
	Listen func() (net.Listener, error)
	// Downtime is how long the server is down after a crash.
	Downtime time.Duration
}

// Run serves until the context ends, and returns nil then. Otherwise the error is that of Listen, of the listener, or
// of Engine.Run except ErrCrashed.
func (s *Server) Run(ctx context.Context) error {
	for {
		err := s.life(ctx)
		if !errors.Is(err, ErrCrashed) || ctx.Err() != nil {
			return ignoreCrash(err)
		}
		if pause(ctx, max(s.Downtime, time.Nanosecond)) != nil {
			return nil
		}
	}
}

func ignoreCrash(err error) error {
	if errors.Is(err, ErrCrashed) {
		return nil
	}
	return err
}

// life serves from one start to the next end.
func (s *Server) life(ctx context.Context) error {
	listener, err := s.Listen()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: s.Engine.Handler(), ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	var broken error
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			broken = err
			cancel()
		}
	})
	err = s.Engine.Run(ctx)
	closed := server.Close()
	serving.Wait()
	return errors.Join(err, broken, closed)
}
