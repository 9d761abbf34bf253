package openai

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// timeouts is a client whose server answers at the given times and then stays silent.
func timeouts(t *testing.T, o Options, at ...time.Duration) Record {
	t.Helper()
	return answerOf(t, o, func(e *engine) bool {
		if len(at) == 0 {
			e.silence()
			return false
		}
		e.begin()
		for i, after := range at {
			if i == 0 {
				e.at(after, events(roleChunk))
			} else {
				e.at(after, events(textChunk("a")))
			}
		}
		e.silence()
		return false
	}).Record
}

func TestTimeouts(t *testing.T) {
	limits := Options{RequestTimeout: 10 * time.Second, FirstTokenTimeout: 4 * time.Second, ChunkTimeout: 2 * time.Second}
	const s = time.Second
	for name, c := range map[string]struct {
		at     []time.Duration
		reason string
	}{
		"first token, no headers":            {nil, "no first token within 4s"},
		"first token, role chunk only":       {[]time.Duration{3 * s}, "no first token within 4s"},
		"chunk":                              {[]time.Duration{1 * s, 3 * s}, "no further token within 2s"},
		"chunk, after several":               {[]time.Duration{1 * s, 2 * s, 3 * s, 4 * s}, "no further token within 2s"},
		"request, though tokens keep coming": {[]time.Duration{1 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s, 8 * s, 9 * s}, "request not finished within 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := timeouts(t, limits, c.at...)
			wantStatus(t, r, StatusTimeout, c.reason)
			if payloads := max(len(c.at)-1, 0); len(r.ArrivalsNS) != payloads || r.EndNS != nil {
				t.Errorf("%d arrivals, want %d; end %v", len(r.ArrivalsNS), payloads, valueOf(r.EndNS))
			}
		})
	}
}

func TestTimeoutEndsTheRequestWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := newEngine(t, Options{FirstTokenTimeout: 5 * time.Second}, func(e *engine) bool { e.silence(); return false })
		r := c.Do(t.Context(), Request{Endpoint: Chat}, since(start), nil).Record
		wantStatus(t, r, StatusTimeout, "no first token within 5s")
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("took %s", took)
		}
		wantTime(t, "broken off", r.BrokenOffNS, 5*time.Second)
	})
}

func TestARequestHasEitherAnEndOfBodyOrAMomentAtWhichItBrokeOff(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*engine) bool
		end    time.Duration // 0: broken off after 3 s
	}{
		"whole": {func(e *engine) bool {
			e.begin()
			e.at(time.Second, events(textChunk("a"), stopChunk))
			e.finish()
			return true
		}, time.Second},
		"silent":         {func(e *engine) bool { e.silence(); return false }, 0},
		"silent later":   {func(e *engine) bool { e.begin(); e.at(time.Second, events(textChunk("a"))); e.silence(); return false }, 0},
		"lost":           {func(e *engine) bool { e.begin(); e.at(3*time.Second, events(textChunk("a"))); return false }, 0},
		"lost, no bytes": {func(*engine) bool { time.Sleep(3 * time.Second); return false }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := answerOf(t, Options{RequestTimeout: 3 * time.Second}, c.answer).Record
			if c.end > 0 {
				wantTime(t, "end", r.EndNS, c.end)
				if r.BrokenOffNS != nil {
					t.Errorf("broken off at %v", valueOf(r.BrokenOffNS))
				}
				return
			}
			wantTime(t, "broken off", r.BrokenOffNS, 3*time.Second)
			if r.EndNS != nil {
				t.Errorf("end %v", valueOf(r.EndNS))
			}
		})
	}
}

func TestCallerCancels(t *testing.T) {
	for name, at := range map[string]time.Duration{"before headers": time.Second, "mid-stream": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(at, func() { cancel(errors.New("grace is over")) })
				c := newEngine(t, Options{RequestTimeout: time.Minute}, func(e *engine) bool {
					time.Sleep(2 * time.Second)
					e.begin()
					e.at(2*time.Second, events(textChunk("a")))
					e.silence()
					return false
				})
				r := c.Do(ctx, Request{Endpoint: Chat}, since(time.Now()), nil).Record
				wantStatus(t, r, StatusCancelled, "grace is over")
			})
		})
	}
}
