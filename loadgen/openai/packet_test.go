package openai

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestAWaitIsTheSmallerOfTwoWhenTheTimeOfDayIsSet(t *testing.T) {
	const ms = int64(time.Millisecond)
	for name, c := range map[string]struct {
		offset     int64 // wall less monotonic at the read before
		wall, mono int64 // at this read
		stamp      int64
		want       time.Duration
	}{
		"no wait": {1000 * ms, 1100 * ms, 100 * ms, 1100 * ms, 0},
		"a wait":  {1000 * ms, 1140 * ms, 140 * ms, 1105 * ms, 35 * time.Millisecond},
		"set forward by 1 s before the bytes came":   {1000 * ms, 2140 * ms, 140 * ms, 2139 * ms, 0},
		"set forward by 1 s while they waited":       {1000 * ms, 2140 * ms, 140 * ms, 1139 * ms, time.Millisecond},
		"set back by 1 s before the bytes came":      {1000 * ms, 140 * ms, 140 * ms, 139 * ms, time.Millisecond},
		"set back by 1 s while they waited":          {1000 * ms, 140 * ms, 140 * ms, 1139 * ms, 0},
		"a stamp of the future, as after a set":      {1000 * ms, 1100 * ms, 100 * ms, 9999 * ms, 0},
		"slewed by a microsecond since last read":    {1000*ms + 1000, 1140 * ms, 140 * ms, 1105 * ms, 35 * time.Millisecond},
		"the machine slept, monotonic stood: 1 h":    {1000 * ms, 3_601_140 * ms, 140 * ms, 1139 * ms, time.Millisecond},
		"the machine slept before the bytes came":    {1000 * ms, 3_601_140 * ms, 140 * ms, 3_601_139 * ms, 0},
		"set forward, and the bytes waited for long": {1000 * ms, 2540 * ms, 540 * ms, 1140 * ms, 400 * time.Millisecond},
	} {
		o := clockOffset{before: c.offset}
		if got := o.waited(bothClocks{c.wall, c.mono}, c.stamp); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if o.before != c.wall-c.mono {
			t.Errorf("%s: the offset is not that of the last read", name)
		}
	}
}

// loopback returns both ends of a TCP connection.
func loopback(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// TestAPacketReaderReadsTheSameAsAConn compares bytes, ends and errors with those of net.TCPConn.
func TestAPacketReaderReadsTheSameAsAConn(t *testing.T) {
	read := func(of func(net.Conn) func([]byte) (int, error)) []string {
		near, far := loopback(t)
		reader := of(near)
		var seen []string
		one := func(room int) {
			p := make([]byte, room)
			n, err := reader(p)
			kind := "nil"
			if op, ok := errors.AsType[*net.OpError](err); ok {
				kind = fmt.Sprintf("%s %s %v %v timeout %v closed %v", op.Op, op.Net, op.Source == near.LocalAddr(), op.Err, op.Timeout(), errors.Is(err, net.ErrClosed))
			} else if err != nil {
				kind = err.Error()
			}
			seen = append(seen, fmt.Sprintf("%q %s", p[:n], kind))
		}
		_, _ = io.WriteString(far, "hello")
		one(0)
		one(3)
		one(10)
		_ = near.SetReadDeadline(time.Unix(1, 0))
		one(10)
		_ = near.SetReadDeadline(time.Time{})
		_, _ = io.WriteString(far, "bye")
		one(10)
		_ = far.Close()
		one(10)
		_ = near.Close()
		one(10)
		return seen
	}
	want := read(func(c net.Conn) func([]byte) (int, error) { return c.Read })
	got := read(func(c net.Conn) func([]byte) (int, error) {
		r := newPacketReader(c, new(stampsSeen))
		if r == nil {
			t.Log("this kernel does not stamp packets")
			return c.Read
		}
		return func(p []byte) (int, error) {
			n, _, err := r.read(p)
			return n, err
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestTheKernelStampsHowLongBytesWaited bounds the wait by moments before and after the write: no figure
// depends on how busy the machine is.
func TestTheKernelStampsHowLongBytesWaited(t *testing.T) {
	const pause = 3 * time.Millisecond
	near, far := loopback(t)
	var seen stampsSeen
	r := newPacketReader(near, &seen)
	if r == nil {
		t.Fatal("the kernel does not stamp packets")
	}
	p := make([]byte, 10)
	// The kernel begins to stamp packets a little after it is first asked for it.
	for range 1000 {
		before := time.Now()
		_, _ = io.WriteString(far, "hello")
		written := time.Now()
		time.Sleep(pause)
		least := time.Since(written)
		n, waited, err := r.read(p)
		if n != 5 || err != nil {
			t.Fatal(n, err)
		}
		if seen.kernel.Load() {
			if most := time.Since(before); waited < least || waited > most {
				t.Fatalf("waited %s, of at least %s and at most %s", waited, least, most)
			}
			return
		}
	}
	t.Fatal("no packet was stamped")
}

// TestAnArrivalIsWhenTheBytesCame keeps the client from reading while tokens come in: what it does with the token before
// takes that long. The last of them has the kernel's stamp; those before it came since the read before.
func TestAnArrivalIsWhenTheBytesCame(t *testing.T) {
	const pause = 5 * time.Millisecond
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", secure), func(t *testing.T) {
			send, sent := make(chan struct{}, 1), make(chan struct{}, 1)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				write := func(text string) { _, _ = io.WriteString(w, text); w.(http.Flusher).Flush() }
				write(events(textChunk("a")))
				<-send
				write(events(textChunk(" b")))
				write(events(textChunk(" c")))
				sent <- struct{}{}
				<-send
				write(events(stopChunk, done))
			}))
			o := Options{}
			if secure {
				server.StartTLS()
				o.CAFile = filepath.Join(t.TempDir(), "ca.pem")
				block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
				if err := os.WriteFile(o.CAFile, block, 0o600); err != nil {
					t.Fatal(err)
				}
			} else {
				server.Start()
			}
			defer server.Close()
			o.BaseURL = server.URL
			c, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 1000 { // until the kernel stamps
				var before, written time.Time
				var least, most time.Duration
				payloads, start := 0, time.Now()
				result := c.Do(context.Background(), Request{Endpoint: Chat, Body: []byte("{}")}, since(start), func() {
					switch payloads++; payloads {
					case 1:
						before = time.Now()
						send <- struct{}{}
						<-sent
						written = time.Now()
						time.Sleep(pause)
						least = time.Since(written)
					case 3:
						most = time.Since(start) - least
						send <- struct{}{}
					}
				})
				wantStatus(t, result.Record, StatusOK, "")
				r := result.Record
				if !c.StampsPackets() || len(r.UnsureChunks) == 0 {
					continue
				}
				at := time.Duration(r.ArrivalsNS[0] + r.ArrivalsNS[1] + r.ArrivalsNS[2])
				if at < before.Sub(start) || at > most {
					t.Fatalf("the last token arrived at %s, want %s to %s", at, before.Sub(start), most)
				}
				if want := []int64{r.ArrivalsNS[1]}; r.ReadIDs[1] == r.ReadIDs[2] && (!slices.Equal(r.UnsureChunks, []int{1}) || !slices.Equal(r.UnsureNS, want)) {
					t.Fatalf("chunks %v are unsure by %v ns, want the second by %v", r.UnsureChunks, r.UnsureNS, want)
				}
				return
			}
			t.Fatal("no late read was noted")
		})
	}
}

// TestAReadHappensAfterTheWrite is for the race detector, which must see it of reads that are not its own.
func TestAReadHappensAfterTheWrite(t *testing.T) {
	near, far := loopback(t)
	r := newPacketReader(near, new(stampsSeen))
	if r == nil {
		t.Fatal("the kernel does not stamp packets")
	}
	var shared int
	go func() {
		shared = 1
		_, _ = io.WriteString(far, "hello")
	}()
	if n, _, err := r.read(make([]byte, 10)); n != 5 || err != nil || shared != 1 {
		t.Fatal(n, err, shared)
	}
}
