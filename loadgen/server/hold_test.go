package server

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
	"github.com/umascope/umascope/loadgen/workload"
)

// dropping is a load against a server that does not have its model at some times. An answer takes 10 ms, a
// refusal one.
type dropping struct {
	guard   *guard
	mutex   sync.Mutex
	start   time.Time
	away    func(since time.Duration) bool // whether the model is not there, and not listed
	refusal openai.Result
	records []openai.Record
}

func (d *dropping) send(_ context.Context, _ *workload.Job, clock openai.Clock, _ func()) openai.Result {
	record := openai.Record{DispatchNS: new(clock())}
	if d.away(time.Since(d.start)) {
		time.Sleep(time.Millisecond)
		record.EndNS = new(clock())
		refused := d.refusal
		record.Status, record.HTTPStatus, record.Error = openai.StatusHTTP, refused.Record.HTTPStatus, refused.Record.Error
		return openai.Result{Record: record, ErrorCode: refused.ErrorCode}
	}
	time.Sleep(10 * time.Millisecond)
	record.EndNS, record.Status, record.HTTPStatus = new(clock()), openai.StatusOK, http.StatusOK
	return openai.Result{Record: record}
}

func (d *dropping) models(context.Context) ([]Model, error) {
	time.Sleep(time.Millisecond)
	if d.away(time.Since(d.start)) {
		return nil, nil
	}
	return []Model{{ID: "m"}}, nil
}

// drive sends 200 requests, as many at once as there are slots, or by the rate if it is not 0.
func (d *dropping) drive(t *testing.T, slots int, rate float64) {
	t.Helper()
	d.start = time.Now()
	stop, halt := context.WithCancelCause(t.Context())
	defer halt(nil)
	d.guard = &guard{models: d.models, model: "m", halt: halt, ctx: t.Context()}
	clock := func() int64 { return int64(time.Since(d.start)) }
	phase := workload.Phase{Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Closed}, Limit: traffic.Limit{Requests: 200}}
	if rate > 0 {
		phase.Process = traffic.ArrivalProcess{Arrival: traffic.Constant, RatePerSecond: rate}
	}
	jobs := make(chan workload.Job, 200)
	for index, offset := range phase.Planned(0, 1, 0) {
		j := workload.Job{Index: index}
		if offset != nil {
			j.Planned = *offset
		}
		jobs <- j
	}
	close(jobs)
	loop := workload.Loop{Clock: clock, Send: d.send, Slots: slots, Grace: time.Second, Hold: d.guard.pass, Wait: func(ctx context.Context, until int64) error {
		select {
		case <-time.After(time.Duration(until - clock())):
		case <-ctx.Done():
		}
		return ctx.Err()
	}}
	loop.Drive(stop, t.Context(), phase, []<-chan workload.Job{jobs}, workload.Observer{
		Started: func() {}, Payload: func() {},
		Failed: func(_ workload.Job, result openai.Result) { d.guard.saw(result) },
		Ended: func(_ workload.Job, result openai.Result) {
			d.mutex.Lock()
			defer d.mutex.Unlock()
			d.records = append(d.records, result.Record)
		},
	})
	d.guard.wait()
}

// refusals are how servers answer when their model is gone, as they were recorded.
func refusals() map[string]openai.Result {
	refused := func(status int, code, text string) openai.Result {
		return openai.Result{Record: openai.Record{Status: openai.StatusHTTP, HTTPStatus: status, Error: text}, ErrorCode: code}
	}
	return map[string]openai.Result{
		"vLLM 0.32.0":                   refused(404, "NotFoundError", "HTTP 404: The model `gone` does not exist. Valid aliases: tiny-llama."),
		"Dynamo 1.6.1":                  refused(404, "Not Found", "HTTP 404: Model not found"),
		"Dynamo 1.6.1 without a worker": refused(503, "Service Unavailable", "HTTP 503: Service temporarily unavailable"),
		"smg 1.13.0":                    refused(404, "model_not_found", "HTTP 404: No worker available for model 'gone'"),
		"LiteLLM 1.106.2":               refused(400, "400", "HTTP 400: /chat/completions: Invalid model name passed in model=gone."),
	}
}

func (d *dropping) sentAfter(from time.Duration) (sent, failed int) {
	for _, r := range d.records {
		if r.DispatchNS != nil && time.Duration(*r.DispatchNS) >= from {
			sent++
		}
		if r.Status == openai.StatusHTTP {
			failed++
		}
	}
	return sent, failed
}

func TestNothingIsSentOnceTheServerDeniesTheModel(t *testing.T) {
	const slots, gone = 4, 55 * time.Millisecond
	for name, refusal := range refusals() {
		for load, rate := range map[string]float64{"closed": 0, "open": 500} {
			t.Run(name+", "+load, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &dropping{away: func(since time.Duration) bool { return since >= gone }, refusal: refusal}
					d.drive(t, slots, rate)
					reason := d.guard.stopped()
					if reason == nil || reason.kind != modelDropped {
						t.Fatalf("stopped for %v", reason)
					}
					sent, failed := d.sentAfter(gone + 2*time.Millisecond)
					if failed == 0 || failed > slots || sent > slots {
						t.Errorf("%d requests failed, %d were sent after the first refusal", failed, sent)
					}
				})
			})
		}
	}
}

func TestALoadGoesOnWhenTheModelIsBack(t *testing.T) {
	for load, rate := range map[string]float64{"closed": 0, "open": 500} {
		t.Run(load, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// A router forgets the model for 200 ms.
				d := &dropping{away: func(since time.Duration) bool { return since >= 55*time.Millisecond && since < 255*time.Millisecond }, refusal: refusals()["Dynamo 1.6.1"]}
				d.drive(t, 4, rate)
				if reason := d.guard.stopped(); reason != nil || len(d.records) != 200 {
					t.Fatalf("%d requests, stopped for %v", len(d.records), reason)
				}
				if _, failed := d.sentAfter(0); failed == 0 || failed > 4 {
					t.Errorf("%d requests failed", failed)
				}
				for _, r := range d.records {
					if lag, _ := r.ClientLag(); lag > 0 {
						t.Fatalf("request %d: a wait for the server is taken for a lag of the client of %s", r.Index, lag)
					}
				}
			})
		})
	}
}

func TestAListThatDoesNotComeHoldsNothingForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &guard{model: "m", ctx: t.Context(), halt: func(error) { t.Error("stopped") }, models: func(ctx context.Context) ([]Model, error) {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return nil, context.DeadlineExceeded
		}}
		g.saw(refusals()["Dynamo 1.6.1"])
		start := time.Now()
		waited, err := g.pass(t.Context())
		if took := time.Since(start); !waited || err != nil || took != longestHold {
			t.Errorf("waited %t for %s: %v", waited, took, err)
		}
		if waited, err := g.pass(t.Context()); waited || err != nil {
			t.Errorf("held again: %t, %v", waited, err)
		}
		g.wait()
	})
}

func TestOtherFailuresHoldNothing(t *testing.T) {
	for _, text := range []string{"HTTP 500: CUDA out of memory", "HTTP 429: too many requests", "HTTP 400: max_tokens is 0"} {
		if deniesModel(refused(text)) {
			t.Errorf("taken for a denial: %s", text)
		}
	}
}
