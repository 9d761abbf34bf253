package openai

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// after are servers by what they do after [DONE].
func after() map[string]func(*engine) {
	return map[string]func(*engine){
		"silence":  func(e *engine) { e.silence() },
		"comments": func(e *engine) { goOn(e, ": keep-alive\n\n") },
		"chunks":   func(e *engine) { goOn(e, events(textChunk("not this"))) },
		"half an event": func(e *engine) {
			e.at(0, "data: {")
			e.silence()
		},
	}
}

// goOn sends a text each 100 ms for a minute.
func goOn(e *engine, text string) {
	for range 600 {
		time.Sleep(100 * time.Millisecond)
		if _, err := fmt.Fprintf(e.conn, "%x\r\n%s\r\n", len(text), text); err != nil {
			return
		}
	}
}

func TestWhatComesAfterDoneDelaysNoRequest(t *testing.T) {
	for name, then := range after() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newEngine(t, Options{ChunkTimeout: time.Minute, Connections: 1}, func(e *engine) bool {
					e.begin()
					e.at(time.Second, events(textChunk("a"), stopChunk, done))
					then(e)
					return false
				})
				start := time.Now()
				const requests = 20
				for i := range requests {
					sent := time.Now()
					r := c.Do(t.Context(), Request{Endpoint: Chat, KeepOutput: true}, since(sent), nil)
					wantStatus(t, r.Record, StatusOK, "")
					wantTime(t, "end", r.Record.EndNS, time.Second)
					if took := time.Since(sent); i > 0 && took != time.Second || r.Output != "a" {
						t.Errorf("request %d took %s: %q", i, took, r.Output)
					}
				}
				if took := time.Since(start); took > requests*time.Second+endWait {
					t.Errorf("%d requests took %s", requests, took)
				}
				time.Sleep(2 * drainTime)
				answers, bytes := c.AfterDone()
				if sends := name != "silence"; answers != requests || (bytes > 0) != sends {
					t.Errorf("%d answers went on, with %d bytes", answers, bytes)
				}
			})
		})
	}
}

func TestABodyThatEndsSoonAfterDoneKeepsItsConnection(t *testing.T) {
	for name, later := range map[string]time.Duration{"at once": 0, "a moment later": endWait / 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newEngine(t, Options{Connections: 1}, func(e *engine) bool {
					e.begin()
					e.at(time.Second, events(textChunk("a"), stopChunk, done))
					time.Sleep(later)
					e.finish()
					return true
				})
				for i := range 5 {
					r := c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record
					wantStatus(t, r, StatusOK, "")
					wantTime(t, "end", r.EndNS, time.Second+later)
					if r.ConnectionReused == nil || *r.ConnectionReused != (i > 0) {
						t.Errorf("request %d: connection reused %v", i, r.ConnectionReused)
					}
				}
				if answers, bytes := c.AfterDone(); answers != 0 || bytes != 0 {
					t.Errorf("%d answers went on, with %d bytes", answers, bytes)
				}
			})
		})
	}
}

func TestAServerThatEndsOneBodyLateIsTrustedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := newEngine(t, Options{Connections: 1}, func(e *engine) bool {
			n++
			e.begin()
			e.at(time.Second, events(textChunk("a"), stopChunk, done))
			if n == 3 {
				time.Sleep(10 * endWait)
			}
			e.finish()
			return true
		})
		var reused []bool
		for range 8 {
			r := c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record
			wantStatus(t, r, StatusOK, "")
			reused = append(reused, *r.ConnectionReused)
			time.Sleep(time.Second / 2)
		}
		// The connection of the third body is free again when its end has come.
		if want := []bool{false, true, true, true, true, true, true, true}; !slices.Equal(reused, want) {
			t.Errorf("connections reused: %v", reused)
		}
		if answers, _ := c.AfterDone(); answers != 1 && answers != 2 {
			t.Errorf("%d answers went on", answers)
		}
	})
}

func TestBodiesAfterDoneTakeNoConnectionFromRequests(t *testing.T) {
	for _, most := range []int{2, 3, 5} {
		synctest.Test(t, func(t *testing.T) {
			c := newEngine(t, Options{Connections: 1, MostOpen: most}, func(e *engine) bool {
				e.begin()
				e.at(0, events(textChunk("a"), stopChunk, done))
				e.silence()
				return false
			})
			start := time.Now()
			const requests = 64
			for range requests {
				wantStatus(t, c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record, StatusOK, "")
				time.Sleep(time.Millisecond) // in which connections are closed
			}
			if took := time.Since(start); took > requests*time.Millisecond+(1+requests/triedAgain)*endWait {
				t.Errorf("with %d connections, %d requests took %s", most, requests, took)
			}
		})
	}
}
