package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// reader is the bare reader: the minimal client that times events. It sends at fixed intervals, keeps the bytes of every answer, and
// records when each read returned. It parses events at the end, so that its cost excludes parsing.
type reader struct {
	url       string
	body      string
	transport *http.Transport
	clock     func() int64
	all       []taken
}

// stream is one request as the reader reports it, in milliseconds.
type stream struct {
	ID     string    `json:"id"` // the server's
	TTFTMS float64   `json:"ttft_ms"`
	GapsMS []float64 `json:"gaps_ms"`
	LagMS  float64   `json:"lag_ms"` // how much later than due it was sent
}

// taken is one answer as received.
type taken struct {
	id     string
	due    int64 // when it was to be sent
	sent   int64
	reads  []int64 // when each read returned
	ends   []int   // how many bytes there were then
	bytes  []byte
	failed error
}

func newReader(url string, tokens, connections int) *reader {
	start := time.Now()
	return &reader{
		url:  url + "/v1/chat/completions",
		body: `{"model":"` + model + `","stream":true,"max_tokens":` + strconv.Itoa(tokens) + `,"messages":[{"role":"user","content":"token"}]}`,
		// The settings of uma-load's client, so that only its own work is compared.
		transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: connections, ReadBufferSize: 64 << 10},
		clock:     func() int64 { return int64(time.Since(start)) },
	}
}

// sendAll sends the requests at the given interval, and waits for the answers.
func (r *reader) sendAll(requests int, apart time.Duration) {
	first := len(r.all)
	r.all = append(r.all, make([]taken, requests)...)
	begun := r.clock()
	var sending sync.WaitGroup
	for i := range requests {
		one := &r.all[first+i]
		one.due = begun + int64(i)*int64(apart)
		time.Sleep(time.Duration(one.due - r.clock()))
		sending.Go(func() { one.failed = r.take(one) })
	}
	sending.Wait()
}

func (r *reader) take(one *taken) error {
	one.sent = r.clock()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.url, strings.NewReader(r.body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := r.transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	one.id = response.Header.Get(idHeader)
	one.bytes = make([]byte, 0, 64<<10)
	for {
		if len(one.bytes) == cap(one.bytes) {
			one.bytes = append(one.bytes, 0)[:len(one.bytes)]
		}
		n, err := response.Body.Read(one.bytes[len(one.bytes):cap(one.bytes)])
		one.bytes = one.bytes[:len(one.bytes)+n]
		one.reads, one.ends = append(one.reads, r.clock()), append(one.ends, len(one.bytes))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// write parses the events of the kept answers, and writes a stream a line.
func (r *reader) write(to io.Writer) error {
	encoder := json.NewEncoder(to)
	for _, one := range r.all {
		if one.failed != nil {
			return one.failed
		}
		if err := encoder.Encode(one.stream()); err != nil {
			return err
		}
	}
	return nil
}

// stream parses an answer: the time of an event is that of the read that returned its end.
func (t *taken) stream() stream {
	s := stream{ID: t.id, LagMS: milliseconds(t.sent - t.due)}
	var last int64
	end, read := 0, 0
	for event := range bytes.SplitAfterSeq(t.bytes, []byte("\n\n")) {
		end += len(event)
		for read < len(t.ends)-1 && t.ends[read] < end {
			read++
		}
		if !bytes.Contains(event, []byte(`"content":"`)) || bytes.Contains(event, []byte(`"content":""`)) {
			continue
		}
		if at := t.reads[read]; last == 0 {
			s.TTFTMS, last = milliseconds(at-t.sent), at
		} else {
			s.GapsMS, last = append(s.GapsMS, milliseconds(at-last)), at
		}
	}
	return s
}
