package demo

import (
	"net/http"
	"sync"
	"time"
)

// chatAgent is the user agent of the simulation's own chat, which is nobody's run.
const chatAgent = "uma-demo"

// visits are the requests to an engine for answers, without those of the chat.
type visits struct {
	mu   sync.Mutex
	open int
	last time.Time // when the last one ended
}

// counted counts the requests of a handler.
func (v *visits) counted(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.UserAgent() != chatAgent {
			v.add(1)
			defer v.add(-1)
		}
		handler.ServeHTTP(w, r)
	})
}

func (v *visits) add(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open, v.last = v.open+n, time.Now()
}

// quiet returns how long there has been no request.
func (v *visits) quiet() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open > 0 {
		return 0
	}
	return time.Since(v.last)
}
