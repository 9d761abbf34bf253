package demo

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnEngineIsQuietFromTheEndOfItsLastRequestOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v visits
		handler := v.counted(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if quiet := v.quiet(); quiet != 0 {
				t.Errorf("quiet for %v during a request", quiet)
			}
			time.Sleep(time.Minute)
		}))
		ask := func(method, agent string) {
			r := httptest.NewRequest(method, "/v1/completions", http.NoBody)
			r.Header.Set("User-Agent", agent)
			handler.ServeHTTP(httptest.NewRecorder(), r)
		}
		ask(http.MethodPost, "uma-load")
		time.Sleep(3 * time.Second)
		if quiet := v.quiet(); quiet != 3*time.Second {
			t.Errorf("quiet for %v", quiet)
		}
	})
}

func TestPagesAndTheChatAreNoRun(t *testing.T) {
	var v visits
	handler := v.counted(http.NotFoundHandler())
	for method, agent := range map[string]string{http.MethodGet: "Prometheus", http.MethodPost: chatAgent} {
		r := httptest.NewRequest(method, "/", http.NoBody)
		r.Header.Set("User-Agent", agent)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if v.quiet() < time.Hour {
		t.Errorf("quiet for %v", v.quiet())
	}
}
