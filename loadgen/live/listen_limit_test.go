package live

import (
	"net"
	"testing"
	"testing/synctest"
)

func TestTheLivePageHasSoManyConnectionsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := limitListener(&pipeListener{dialled: make(chan net.Conn, 3)}, 2)
		accepted := make(chan net.Conn, 3)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					close(accepted)
					return
				}
				accepted <- conn
			}
		}()
		for range 3 {
			_, server := net.Pipe()
			listener.Listener.(*pipeListener).dialled <- server
		}
		synctest.Wait()
		if len(accepted) != 2 {
			t.Fatalf("%d connections, 2 wanted", len(accepted))
		}
		first := <-accepted
		first.Close()
		first.Close() // makes room once
		synctest.Wait()
		if len(accepted) != 2 {
			t.Errorf("%d connections after one was closed", len(accepted)+1)
		}
		listener.Close()
		synctest.Wait()
		for conn := range accepted { // ends only if Accept has
			conn.Close()
		}
	})
}

// pipeListener accepts the connections of a channel.
type pipeListener struct{ dialled chan net.Conn }

func (l *pipeListener) Accept() (net.Conn, error) { return <-l.dialled, nil }

func (l *pipeListener) Close() error { return nil }

func (l *pipeListener) Addr() net.Addr { return nil }
