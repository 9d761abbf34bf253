package view

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/exporter/metric"
)

const secretURL = "http://user:s3cret@hook.example/s3cret?token=s3cret"

// hook is a receiver that answers by a function, and keeps what it gets.
type hook struct {
	mutex  sync.Mutex
	got    []notice
	answer func(*http.Request) (status int, err error)
}

func (h *hook) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, err := h.answer(r)
	if err != nil {
		return nil, err
	}
	var one notice
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, err
	}
	if status/100 == 2 {
		h.mutex.Lock()
		h.got = append(h.got, one)
		h.mutex.Unlock()
	}
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(status)
	return recorder.Result(), nil
}

func (h *hook) notices() []notice {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.got
}

func taken(*http.Request) (int, error) { return http.StatusNoContent, nil }

// started sends notices to a hook in a bubble, until the test ends. It returns the log too.
func started(t *testing.T, h *hook) (n *notices, results func(string) float64, log *strings.Builder) {
	t.Helper()
	address, err := url.Parse(secretURL)
	if err != nil {
		t.Fatal(err)
	}
	log = &strings.Builder{}
	_, count := newRegistry()
	n = newNotices("http://127.0.0.1:10430", []*url.URL{address}, count, slog.New(slog.NewTextHandler(log, nil)))
	n.receivers[0].client.Transport = h
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); n.run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return n, func(result string) float64 {
		return testutil.ToFloat64(count.WithLabelValues("http://hook.example", result))
	}, log
}

func alert(name string, severity alerts.Severity, more ...string) *rules.Alert {
	pairs := append([]string{"alertname", name, "severity", string(severity)}, more...)
	return &rules.Alert{
		State: rules.StateFiring, Labels: labels.FromStrings(pairs...), Annotations: labels.FromStrings("summary", "S", "description", strings.Join(more, " ")),
		Value: 1, ActiveAt: time.Now(), FiredAt: time.Now(),
	}
}

func resolved(a *rules.Alert) *rules.Alert {
	b := *a
	b.ResolvedAt = time.Now()
	return &b
}

func TestANoticeIsThatOfAlertmanager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: taken}
		n, results, _ := started(t, h)
		warning := alert("OOMKill", alerts.Critical, "host", "spark", "mode", "live", "cgroup", "/a")
		other := alert("OOMKill", alerts.Critical, "host", "spark", "mode", "live", "cgroup", "/b")
		n.notify(t.Context(), "x", warning, other)
		time.Sleep(alerts.GroupWait - time.Second)
		if len(h.notices()) != 0 {
			t.Error("a notice before the waiting time of a group")
		}
		time.Sleep(2 * flushInterval)
		if len(h.notices()) != 1 {
			t.Fatalf("%d notices", len(h.notices()))
		}
		one := h.notices()[0]
		if one.Version != "4" || one.Status != "firing" || one.Receiver == "" || one.GroupKey == "" || len(one.Alerts) != 2 || one.GroupLabels["host"] != "spark" || one.ExternalURL != "http://127.0.0.1:10430" {
			t.Errorf("%+v", one)
		}
		if one.CommonLabels["alertname"] != "OOMKill" || one.CommonLabels["cgroup"] != "" || one.CommonAnnotations["summary"] != "S" || one.CommonAnnotations["description"] != "" {
			t.Errorf("common: %v %v", one.CommonLabels, one.CommonAnnotations)
		}
		first := one.Alerts[0]
		if first.Status != "firing" || !first.EndsAt.IsZero() || first.StartsAt.IsZero() || len(first.Fingerprint) != 16 || first.Fingerprint == one.Alerts[1].Fingerprint || first.GeneratorURL != "http://127.0.0.1:10430/alerts/OOMKill" {
			t.Errorf("%+v", first)
		}
		for range 60 { // Prometheus hands an alert on every minute while it fires
			n.notify(t.Context(), "x", warning, other)
			time.Sleep(time.Minute)
		}
		if len(h.notices()) != 1 {
			t.Errorf("%d notices of the same alerts within an hour", len(h.notices()))
		}
		n.notify(t.Context(), "x", resolved(warning), other)
		time.Sleep(2 * flushInterval)
		last := h.notices()[len(h.notices())-1]
		if len(h.notices()) != 2 || last.Status != "resolved" || len(last.Alerts) != 1 || last.Alerts[0].Status != "resolved" || last.Alerts[0].EndsAt.IsZero() {
			t.Errorf("%d notices, the last %+v", len(h.notices()), last)
		}
		time.Sleep(alerts.RepeatAfter)
		if len(h.notices()) != 3 || len(h.notices()[2].Alerts) != 1 {
			t.Errorf("%d notices: what still fires is repeated", len(h.notices()))
		}
		if results(metric.NoticeSent) != 3 || results(metric.NoticeFailed) != 0 {
			t.Errorf("%v sent, %v failed", results(metric.NoticeSent), results(metric.NoticeFailed))
		}
	})
}

func TestPeopleGetTheNoticesOfTheirAlertmanager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: taken}
		n, _, _ := started(t, h)
		run := alert("RunInProgress", alerts.None, "host", "spark", "run", "r")
		expected := alert("MemoryAvailableLow", alerts.Warning, "host", "spark", "mode", "live")
		n.notify(t.Context(), "x", run, expected,
			alert("Watchdog", alerts.None), alert("ContainerLimitUncovered", alerts.Info, "host", "spark", "mode", "live"), alert("OOMKill", alerts.Critical, "host", "spark", "mode", "simulated"),
			resolved(alert("GPULost", alerts.Critical, "host", "spark", "mode", "live")))
		time.Sleep(time.Hour)
		if len(h.notices()) != 0 {
			t.Fatalf("notices of what people need not act on: %+v", h.notices())
		}
		n.notify(t.Context(), "x", resolved(run))
		time.Sleep(2 * flushInterval)
		if len(h.notices()) != 1 || h.notices()[0].Alerts[0].Labels["alertname"] != "MemoryAvailableLow" {
			t.Errorf("after the run: %+v", h.notices())
		}
	})
}

func TestAReceiverThatFailsIsTriedAgainAndLoggedOnce(t *testing.T) {
	for name, answer := range map[string]func(*http.Request) (int, error){
		"is gone":     func(*http.Request) (int, error) { return 0, errors.New("connection refused") },
		"answers 500": func(*http.Request) (int, error) { return http.StatusInternalServerError, nil },
		"hangs":       func(r *http.Request) (int, error) { <-r.Context().Done(); return 0, r.Context().Err() },
		"refuses":     func(*http.Request) (int, error) { return http.StatusForbidden, nil },
		"redirects":   func(*http.Request) (int, error) { return http.StatusFound, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries, h := 0, &hook{}
				fails := true
				h.answer = func(r *http.Request) (int, error) {
					tries++
					if fails {
						return answer(r)
					}
					return taken(r)
				}
				n, results, log := started(t, h)
				for i := range 3 {
					n.notify(t.Context(), "x", alert("OOMKill", alerts.Critical, "host", string(rune('a'+i)), "mode", "live"))
				}
				time.Sleep(time.Hour)
				permanent := name == "refuses" || name == "redirects"
				if results(metric.NoticeFailed) != 3 || strings.Count(log.String(), "\n") != 1 || permanent != (tries == 3) || tries > 60 {
					t.Errorf("%v failed after %d tries; log %s", results(metric.NoticeFailed), tries, log)
				}
				fails = false
				n.notify(t.Context(), "x", alert("OOMKill", alerts.Critical, "host", "z", "mode", "live"))
				time.Sleep(time.Minute)
				if results(metric.NoticeSent) != 1 || strings.Count(log.String(), "\n") != 2 {
					t.Errorf("%v sent; log %s", results(metric.NoticeSent), log)
				}
				if strings.Contains(log.String(), "s3cret") {
					t.Errorf("the secret is logged: %s", log)
				}
			})
		})
	}
}

// TestNoticesAreBounded: rules go on while a receiver hangs.
func TestNoticesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{answer: func(r *http.Request) (int, error) { <-r.Context().Done(); return 0, r.Context().Err() }}
		n, results, _ := started(t, h)
		began := time.Now()
		for i := range mostTracked + 500 {
			n.notify(t.Context(), "x", alert("OOMKill", alerts.Critical, "host", strings.Repeat("h", i), "mode", "live"))
		}
		if time.Since(began) != 0 || len(n.tracked) != mostTracked {
			t.Errorf("%v, %d alerts", time.Since(began), len(n.tracked))
		}
		time.Sleep(alerts.GroupWait + 2*flushInterval)
		if dropped := results(metric.NoticeDropped); dropped < mostTracked-mostQueued-1 {
			t.Errorf("%v dropped", dropped)
		}
	})
	n := newNotices("", nil, nil, nil)
	var many []noticeAlert
	for range mostInNotice + 7 {
		many = append(many, noticeAlert{})
	}
	if one := n.notice(group{}, many); len(one.Alerts) != mostInNotice || one.TruncatedAlerts != 7 {
		t.Errorf("%d alerts, %d left out", len(one.Alerts), one.TruncatedAlerts)
	}
}
