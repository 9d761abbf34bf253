package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

func realClock() openai.Clock {
	start := time.Now()
	return func() int64 { return int64(time.Since(start)) }
}

func TestPaceNeverReturnsEarly(t *testing.T) {
	clock := realClock()
	wait := Pace(clock)
	for _, d := range []time.Duration{0, 10 * time.Microsecond, 500 * time.Microsecond, 3 * time.Millisecond} {
		until := clock() + int64(d)
		if err := wait(t.Context(), until); err != nil {
			t.Fatal(err)
		}
		if now := clock(); now < until {
			t.Errorf("waiting %s ended %s early", d, time.Duration(until-now))
		}
	}
}

func TestPaceEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	clock := realClock()
	time.AfterFunc(time.Millisecond, cancel)
	if err := Pace(clock)(ctx, clock()+int64(time.Hour)); err == nil {
		t.Error("an hour passed")
	}
}

func TestPaceWaitsWithoutDescriptorsToo(t *testing.T) {
	clock := realClock()
	p := &pacer{clock: clock, open: func() (*alarm, error) { return nil, syscall.EMFILE }}
	until := clock() + int64(3*time.Millisecond)
	if err := p.wait(t.Context(), until); err != nil || clock() < until {
		t.Errorf("error %v, %s early", err, time.Duration(until-clock()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := p.wait(ctx, clock()+int64(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// An alarm whose wait was cut short holds a deadline in the past, and must not serve another wait.
func TestPaceWaitsAfterOneThatWasCutShort(t *testing.T) {
	clock := realClock()
	wait := Pace(clock)
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := wait(ctx, clock()+int64(time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v", err)
		}
		cancel()
		until := clock() + int64(time.Millisecond)
		if err := wait(t.Context(), until); err != nil || clock() < until {
			t.Fatalf("error %v, %s early", err, time.Duration(until-clock()))
		}
	}
}

func TestManyMayWaitAtTheSameTime(t *testing.T) {
	clock := realClock()
	wait := Pace(clock)
	var waiting sync.WaitGroup
	for i := range 100 {
		waiting.Go(func() {
			until := clock() + int64(time.Duration(i)*100*time.Microsecond)
			if err := wait(t.Context(), until); err != nil || clock() < until {
				t.Errorf("error %v, %s early", err, time.Duration(until-clock()))
			}
		})
	}
	waiting.Wait()
}

// BenchmarkDispatchLag sends 2,000 arrivals a second for two seconds and reports how late they
// went out: with nothing to send, which is pacing alone, and over HTTP to a server in the same
// process that answers at once, which shares the cores.
func BenchmarkDispatchLag(b *testing.B) {
	const rate, arrivals = 2000, 4000
	instant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
	}))
	defer instant.Close()
	client, err := openai.New(openai.Options{BaseURL: instant.URL, Connections: 64, RequestTimeout: time.Minute, FirstTokenTimeout: time.Minute, ChunkTimeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	nothing := func(_ context.Context, _ *Job, clock openai.Clock, _ func()) openai.Result {
		return openai.Result{Record: openai.Record{DispatchNS: new(clock()), Status: openai.StatusOK}}
	}
	for name, send := range map[string]func(context.Context, *Job, openai.Clock, func()) openai.Result{"pacing": nothing, "http": through(client)} {
		for _, arrival := range []traffic.Arrival{traffic.Constant, traffic.Poisson} {
			b.Run(fmt.Sprintf("%s/%s", name, arrival), func(b *testing.B) {
				var lags []time.Duration
				for b.Loop() {
					lags = append(lags, dispatchLags(b, send, open(arrival, rate, traffic.Limit{Requests: arrivals}))...)
				}
				slices.Sort(lags)
				b.ReportMetric(float64(lags[len(lags)/2].Microseconds()), "p50-lag-us")
				b.ReportMetric(float64(lags[len(lags)*99/100].Microseconds()), "p99-lag-us")
				b.ReportMetric(float64(lags[len(lags)-1].Microseconds()), "max-lag-us")
			})
		}
	}
}

func dispatchLags(b *testing.B, send func(context.Context, *Job, openai.Clock, func()) openai.Result, p Phase) []time.Duration {
	jobs := make(chan Job, p.Limit.Requests)
	for index, offset := range p.Planned(0, 1337, 0) {
		jobs <- Job{Index: index, Planned: *offset, Request: openai.Request{Endpoint: openai.Chat, Body: []byte("{}")}}
	}
	close(jobs)
	clock := realClock()
	l := &Loop{Clock: clock, Send: send, Wait: Pace(clock), Grace: time.Second}
	var mutex sync.Mutex
	var lags []time.Duration
	l.Drive(b.Context(), b.Context(), p, []<-chan Job{jobs}, Observer{
		Started: func() {}, Payload: func() {},
		Ended: func(_ Job, result openai.Result) {
			if result.Record.Status != openai.StatusOK {
				b.Error(result.Record.Error)
			}
			mutex.Lock()
			lag, _ := result.Record.ClientLag()
			lags = append(lags, lag)
			mutex.Unlock()
		},
	})
	return lags
}
