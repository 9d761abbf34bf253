package openai

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lateConn is a connection of a client that is off its core before and behind each write.
type lateConn struct {
	net.Conn
	before, behind time.Duration
}

func (c lateConn) Write(p []byte) (int, error) {
	time.Sleep(c.before)
	n, err := c.Conn.Write(p)
	time.Sleep(c.behind)
	return n, err
}

// net/http says that a small request is written before it has handed it to the connection.
func TestARequestIsWrittenWhenTheWriteOfItsBytesReturnsOrTheAnswerComes(t *testing.T) {
	for name, c := range map[string]struct{ before, behind, written time.Duration }{
		"at once":                    {0, 0, 0},
		"late before the write":      {4 * time.Millisecond, 0, 4 * time.Millisecond},
		"late behind the write":      {0, 4 * time.Millisecond, 4 * time.Millisecond},
		"answered before it returns": {0, 40 * time.Millisecond, 30 * time.Millisecond},
		"ended before it returns":    {0, time.Minute, 30 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var serving sync.WaitGroup
				t.Cleanup(serving.Wait)
				client := newTestClient(t, Options{Connections: 1}, func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					serving.Go(func() {
						serveEngine(far, func(e *engine) bool {
							time.Sleep(30 * time.Millisecond)
							e.begin()
							e.at(50*time.Millisecond, events(textChunk("a"), stopChunk))
							e.finish()
							return true
						})
					})
					return lateConn{near, c.before, c.behind}, nil
				})
				r := client.Do(t.Context(), Request{Endpoint: Completions, Body: []byte("{}")}, since(time.Now()), nil).Record
				wantStatus(t, r, StatusOK, "")
				wantTime(t, "written", r.WrittenNS, c.written)
				time.Sleep(c.behind) // the virtual clock stops with the test
			})
		})
	}
}
